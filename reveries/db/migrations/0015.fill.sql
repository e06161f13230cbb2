-- Rows of schema 14 and earlier, in a migrated memory and in an imported file: until then, sentences held these states.

UPDATE tasks SET audited_by = CASE
    WHEN audit = 'said by you' THEN 'owner'
    WHEN audit LIKE '%, not audited' THEN 'program'
    ELSE 'audit' END
WHERE audit <> '' AND audited_by = '';

UPDATE orientation SET reverted_to = CAST(substr(trigger, length('reverted to ') + 1) AS INTEGER)
WHERE reverted_to IS NULL AND trigger LIKE 'reverted to %';

UPDATE activities SET action = 'reached.answered', details = ''
WHERE action = 'question.answered' AND details = 'whether the goal is reached';
