-- name: put
INSERT INTO projects (id, name, created_at) VALUES (:id, :name, :now)

-- name: with_folder
SELECT id FROM projects WHERE folder <> '' AND state <> 'archived' LIMIT 1

-- name: active
SELECT id FROM projects WHERE state = 'active' LIMIT 1

-- name: all
SELECT * FROM projects ORDER BY created_at, id

-- name: set_folder
UPDATE projects SET folder = :folder, may_write = :may_write WHERE id = :id

-- name: set_state
UPDATE projects SET state = :state WHERE id = :id

-- name: note_wake
UPDATE projects SET last_wake_at = :now WHERE id = :id

-- name: note_rest
UPDATE projects SET last_worked_at = coalesce(:now, last_worked_at), rested_because = :why WHERE id = :id

-- name: end_idle_rest
-- A project that had nothing to do has something again, and goes on in its turn.
UPDATE projects SET rested_because = :why WHERE id = :id AND rested_because IN (SELECT value FROM json_each(:idle))

-- name: set_rewrite_due
UPDATE projects SET rewrite_due = :due WHERE id = :id

-- name: goals
SELECT id, project_id, text, state, said_at, dollars_limit FROM goals WHERE project_id = :project_id ORDER BY said_at, id

-- name: put_goal
INSERT INTO goals (id, project_id, text, state, said_at, applied_at, dollars_limit, checksum)
VALUES (:id, :project_id, :text, :state, :now, :applied_at, :dollars_limit, :checksum)

-- name: limit_goal
UPDATE goals SET dollars_limit = :dollars_limit WHERE id = :id

-- name: drop_pending_goals
DELETE FROM goals WHERE project_id = :project_id AND state = 'pending'

-- name: end_active_goal
UPDATE goals SET state = 'past' WHERE project_id = :project_id AND state = 'active'

-- name: activate_goal
UPDATE goals SET state = 'active', applied_at = :now WHERE id = :id

-- name: orientations
SELECT version, content, trigger, reverted_to, written_at, foreign_sources FROM orientation
WHERE project_id = :project_id ORDER BY version DESC

-- name: orientation
SELECT version, content, trigger, reverted_to, written_at, foreign_sources FROM orientation
WHERE project_id = :project_id ORDER BY version DESC LIMIT 1

-- name: put_orientation
INSERT INTO orientation (project_id, version, content, trigger, reverted_to, written_at, foreign_sources, checksum)
VALUES (:project_id, :version, :content, :trigger, :reverted_to, :now, :foreign_sources, :checksum)

-- name: tasks
SELECT * FROM tasks WHERE project_id = :project_id ORDER BY position IS NULL, position, created_at, id

-- name: needs
SELECT task_id, needs_id FROM task_needs
WHERE task_id IN (SELECT id FROM tasks WHERE project_id = :project_id) ORDER BY task_id, needs_id

-- name: put_task
INSERT INTO tasks (id, project_id, goal_id, title, description, kind, status, skill_area, rests_on, created_at,
    updated_at, foreign_sources, checksum, due, made_by, is_mine, repeats, position)
VALUES (:id, :project_id, :goal_id, :title, :description, :kind, :status, :skill_area, :rests_on, :now, :now,
    :foreign_sources, :checksum, :due, :made_by, :is_mine, :repeats, :position)

-- name: edit_task
UPDATE tasks SET title = :title, description = :description, due = :due, repeats = :repeats, is_mine = :is_mine,
    checksum = :checksum, updated_at = :now
WHERE id = :id

-- name: restore_task
-- Of a task that comes from elsewhere with its own state and times.
UPDATE tasks SET status = :status, outcome = :outcome, failure = :failure, created_at = :created_at,
    updated_at = :updated_at, started_at = :started_at, completed_at = :completed_at
WHERE id = :id

-- name: set_position
UPDATE tasks SET position = :position, updated_at = :now WHERE id = :id

-- name: drop_idle_questions
-- The open questions that only this task waits for.
UPDATE questions SET status = 'dropped' WHERE status = 'open'
    AND id IN (SELECT question_id FROM question_blocks WHERE task_id = :id)
    AND NOT EXISTS (
        SELECT 1 FROM question_blocks JOIN tasks ON tasks.id = question_blocks.task_id
        WHERE question_blocks.question_id = questions.id AND tasks.id <> :id AND tasks.status NOT IN ('done', 'dropped')
    )

-- name: put_need
INSERT OR IGNORE INTO task_needs (task_id, needs_id) VALUES (:task_id, :needs_id)

-- name: begin_task
UPDATE tasks SET status = 'in_progress', tries = tries + 1, started_at = coalesce(started_at, :now), updated_at = :now,
    try_began_at = coalesce(try_began_at, :now)
WHERE id = :id AND status = 'ready'

-- name: end_task
UPDATE tasks SET status = :status, outcome = :outcome, audit = :audit, audited_by = :audited_by, failure = :failure,
    rests_on = :rests_on, files = :files, description = :description, checksum = :checksum, updated_at = :now, foreign_sources = :foreign_sources,
    completed_at = CASE WHEN :status = 'done' THEN coalesce(completed_at, :now) ELSE NULL END,
    tries = CASE WHEN :tries_anew THEN 0 ELSE tries END, try_began_at = NULL,
    repeats = CASE WHEN :status = 'done' THEN '' ELSE repeats END
WHERE id = :id

-- name: hold_try
-- The task waits for the owner's approval, then continues where it was.
UPDATE tasks SET status = 'blocked', tries = max(0, tries - 1), updated_at = :now, foreign_sources = :foreign_sources
WHERE id = :id

-- name: give_back_task
UPDATE tasks SET status = 'ready', tries = tries - 1, updated_at = :now WHERE id = :id AND status = 'in_progress'

-- name: hold_task
UPDATE tasks SET status = CASE WHEN status = 'done' THEN status ELSE 'blocked' END,
    held_because = CASE WHEN status = 'done' THEN held_because ELSE :why END,
    flagged_because = CASE WHEN status = 'done' THEN :why ELSE flagged_because END, updated_at = :now
WHERE id = :id

-- name: flag_task
UPDATE tasks SET flagged_because = :why, updated_at = :now WHERE id = :id

-- name: settle_doubt
UPDATE tasks SET flagged_because = '', files = :files, rests_on = '[]', outcome = :outcome, updated_at = :now
WHERE id = :id

-- name: release_held
-- The owner decided what holds: the task no longer depends on what fell or was replaced.
UPDATE tasks SET held_because = '', updated_at = :now, rests_on = :rests_on, foreign_sources = :foreign_sources
WHERE id = :id

-- name: drop_fallen_needs
DELETE FROM task_needs WHERE task_id = :id AND needs_id IN (SELECT id FROM tasks WHERE flagged_because <> '')

-- name: drop_blocked_needs
-- The owner decides about tasks that wait for each other: until then they wait only for that answer.
DELETE FROM task_needs WHERE task_id = :id AND needs_id IN (SELECT id FROM tasks WHERE status = 'blocked')

-- name: drop_open_tasks
-- What the owner added stays until the owner drops it.
UPDATE tasks SET status = 'dropped', updated_at = :now
WHERE project_id = :project_id AND goal_id = :goal_id AND status IN ('ready', 'blocked') AND made_by <> 'owner'

-- name: give_back_begun
-- A task that an outside program began has no try of the mind's own, and is left to that program.
UPDATE tasks SET status = 'ready', tries = max(0, tries - 1), updated_at = :now
WHERE status = 'in_progress' AND try_began_at IS NOT NULL AND project_id = :project_id

-- name: release_unblocked
UPDATE tasks SET status = 'ready', updated_at = :now
WHERE project_id = :project_id AND status = 'blocked' AND held_because = ''
    AND NOT EXISTS (
        SELECT 1 FROM question_blocks JOIN questions ON questions.id = question_blocks.question_id
        WHERE question_blocks.task_id = tasks.id AND questions.status = 'open'
    )
    AND NOT EXISTS (
        SELECT 1 FROM task_needs JOIN tasks AS needed ON needed.id = task_needs.needs_id
        WHERE task_needs.task_id = tasks.id AND needed.status NOT IN ('done', 'dropped')
    )
RETURNING id

-- name: questions
SELECT * FROM questions WHERE project_id = :project_id ORDER BY asked_at, id

-- name: open_questions
SELECT questions.*, projects.name AS project_name FROM questions JOIN projects ON projects.id = questions.project_id
WHERE questions.status = 'open' AND projects.state <> 'archived' ORDER BY asked_at, questions.id

-- name: question_by_prefix
SELECT questions.*, projects.name AS project_name FROM questions JOIN projects ON projects.id = questions.project_id
WHERE substr(questions.id, 1, length(:prefix)) = :prefix

-- name: blocks
SELECT question_id, task_id FROM question_blocks
WHERE task_id IN (SELECT id FROM tasks WHERE project_id = :project_id) ORDER BY question_id, task_id

-- name: put_question
INSERT INTO questions (id, project_id, task_id, kind, question, context, context_tags, asked_at, foreign_sources,
    checksum, payload)
VALUES (:id, :project_id, :task_id, :kind, :question, :context, :context_tags, :now, :foreign_sources, :checksum,
    :payload)

-- name: put_block
INSERT OR IGNORE INTO question_blocks (question_id, task_id) VALUES (:question_id, :task_id)

-- name: remove_block
DELETE FROM question_blocks WHERE question_id = :question_id AND task_id = :task_id

-- name: block_task
UPDATE tasks SET status = 'blocked', updated_at = :now WHERE id = :id AND status <> 'done'

-- name: answer_question
-- An outside program that answers is added to its tags.
UPDATE questions SET status = 'answered', answer = :answer, answered_at = :now, foreign_sources = :foreign_sources,
    context_tags = CASE WHEN :program = '' THEN context_tags ELSE json_insert(context_tags, '$[#]', :program) END
WHERE id = :id AND status = 'open'

-- name: drop_questions_of
UPDATE questions SET status = 'dropped' WHERE status = 'open' AND id IN (
    SELECT question_id FROM question_blocks JOIN tasks ON tasks.id = question_blocks.task_id
    WHERE tasks.goal_id = :goal_id AND tasks.status = 'dropped'
)

-- name: drop_question
UPDATE questions SET status = 'dropped' WHERE id = :id AND status = 'open'

-- name: restore_question
-- Of a question that comes from elsewhere with its own state and times. Its answer took effect there.
UPDATE questions SET status = :status, answer = :answer, asked_at = :asked_at, answered_at = :answered_at,
    noted_at = :answered_at
WHERE id = :id

-- name: note_question
UPDATE questions SET noted_at = :now WHERE id = :id

-- name: put_activity
INSERT INTO activities (project_id, task_id, action, details, skill_area, happened_at)
VALUES (:project_id, :task_id, :action, :details, :skill_area, :now)
RETURNING id

-- name: activities
SELECT id, task_id, action, details, skill_area, happened_at FROM activities
WHERE project_id = :project_id ORDER BY id DESC LIMIT :limit

-- name: own_activities
-- Without those of outside programs: no model reads their words, and they must not displace others.
SELECT id, task_id, action, details, skill_area, happened_at FROM activities
WHERE project_id = :project_id AND action NOT LIKE 'mcp:%' ORDER BY id DESC LIMIT :limit

-- name: count_added
-- The activities and chunks that an outside program added.
SELECT (
    SELECT count(*) FROM activities WHERE project_id = :project_id AND action = :source AND happened_at > :since
) + (
    SELECT count(*) FROM chunks WHERE project_id = :project_id AND created_at > :since
        AND EXISTS (SELECT 1 FROM json_each(chunks.foreign_sources) WHERE value = :source)
) AS number

-- name: coherence_checks
-- Which tasks the mind began, and which of them it warned of (V-51).
SELECT id, task_id, action, details, skill_area, happened_at FROM activities
WHERE project_id = :project_id AND task_id IS NOT NULL AND action IN ('task.began', 'coherence.warned') ORDER BY id

-- name: tasks_planned
SELECT task_id FROM activities
WHERE project_id = :project_id AND task_id IS NOT NULL AND action = 'task.planned'

-- name: activities_since
-- Activities of outside programs make nothing due.
SELECT count(*) AS number FROM activities
WHERE project_id = :project_id AND happened_at > :since AND action NOT LIKE 'mcp:%'

-- name: put_step
-- An interrupted try is not counted and its number is reused, so its steps may be here already.
INSERT INTO steps (task_id, attempt, position, tool, arguments, state, began_at, foreign_sources, reach)
SELECT :task_id, :attempt, coalesce(max(position), 0) + 1, :tool, :arguments, 'begun', :now, :foreign_sources, :reach
FROM steps WHERE task_id = :task_id AND attempt = :attempt
RETURNING position

-- name: end_step
UPDATE steps SET result = :result, state = :state, ended_at = :now, exit_code = :exit_code, sha256 = :sha256,
    path = :path, foreign_sources = (
        SELECT json_group_array(name) FROM (
            SELECT value AS name FROM json_each(steps.foreign_sources) UNION SELECT value FROM json_each(:sources)
        )
    )
WHERE task_id = :task_id AND attempt = :attempt AND position = :position

-- name: close_begun_steps
UPDATE steps SET state = 'unknown' WHERE state = 'begun'
    AND task_id IN (SELECT id FROM tasks WHERE project_id = :project_id)

-- name: steps_of
SELECT attempt, position, tool, arguments, result, state, began_at, ended_at, reach, exit_code, sha256, path,
    foreign_sources
FROM steps
WHERE task_id = :task_id ORDER BY attempt, position

-- name: plans_since_word
SELECT count(*) AS number FROM activities
WHERE project_id = :project_id AND action = 'planned' AND id > coalesce((
    SELECT max(id) FROM activities
    WHERE project_id = :project_id AND action IN ('goal.said', 'question.answered', 'reached.answered')
), 0)

-- name: plans_since_reached_answer
SELECT count(*) AS number FROM activities
WHERE project_id = :project_id AND action = 'planned' AND id > coalesce((
    SELECT max(id) FROM activities
    WHERE project_id = :project_id AND action = 'reached.answered'
), 0)

-- name: last_word
SELECT coalesce(max(id), 0) AS number FROM activities
WHERE project_id = :project_id AND action IN (
    'goal.said', 'goal.limited', 'question.answered', 'reached.answered', 'folder.set', 'chunk.fell', 'grant.given',
    'material.added', 'proposal.accepted',
    'owner.task_added', 'owner.task_edited', 'owner.task_dropped', 'owner.task_moved', 'owner.task_done'
)

-- name: count_blocked
SELECT count(*) AS number FROM question_blocks WHERE question_id = :id

-- name: put_grant
INSERT INTO grants (id, project_id, task_id, kind, name, given_at) VALUES (:id, :project_id, :task_id, :kind, :name, :now)

-- name: grants
SELECT id, task_id, kind, name, given_at FROM grants
WHERE project_id = :project_id AND used_at IS NULL AND revoked_at IS NULL ORDER BY given_at, id

-- name: use_call
UPDATE grants SET used_at = :now
WHERE task_id = :task_id AND kind = 'call' AND name = :name AND used_at IS NULL AND revoked_at IS NULL

-- name: revoke_grant
UPDATE grants SET revoked_at = :now WHERE id = :id
