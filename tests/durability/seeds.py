"""Faults that somebody could make, each with the test that must catch it: one guard taken out at a time (H4)."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.durability.mind import ROOT

_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Seed:
    """`old` in `file` (below reveries/) becomes `new`; then `test` must fail."""

    name: str
    file: str
    old: str
    new: str
    test: str


_DATABASE, _BACKUPS, _DAMAGE = "db/database.py", "db/backups.py", "db/integrity/damage.py"
_OPENING, _ERRORS = "db/opening.py", "db/storage_errors.py"
_OF_DATABASE, _OF_DAMAGE = "tests/db/test_database.py", "tests/durability/test_damage.py"
_OF_INDEXES = "tests/durability/test_indexes.py"
_OF_MISSING = "tests/durability/test_missing.py"
_OF_BACKUPS, _OF_AWAKE = "tests/db/test_backups.py", "tests/db/test_seen_while_awake.py"
_ERASING = "memory/forgetting/erasing.py"
_OF_COLUMNS = "tests/memory/forgetting/test_every_column.py"
_WORD_ERASED = f"{_OF_COLUMNS}::test_whichever_column_a_word_stands_in_it_is_erased_from_every_file"
_TRACES_ERASED = f"{_OF_COLUMNS}::test_no_checksum_no_hash_and_no_vector_of_what_was_erased_is_left"
_OF_BUDGET = "tests/llm/test_budget.py"
_SHARES = f"{_OF_BUDGET}::test_thinking_stops_at_its_share_of_the_day_then_sleep_and_the_rest_is_the_conversations"
_NO_REFUND = f"{_OF_BUDGET}::test_usage_below_zero_gives_nothing_back"
_OWN_DISTRESS = (
    "tests/daemon/test_thinking_control.py::test_only_a_thought_of_its_own_that_trips_counts_as_its_distress"
)
_MERGE, _CLAIMS, _UPKEEP = "memory/sleep/merge.py", "memory/claims.py", "memory/sleep/upkeep.py"
_OF_SLEEP = "tests/memory/sleep"
_RANKING, _FEATURES = "memory/recall/ranking.py", "memory/recall/features.py"
_RIGHT_ORDER, _OF_LINKS = "tests/memory/recall/test_right_order.py", "tests/memory/recall/test_links_in_recall.py"
_ANSWER_FIRST = f"{_RIGHT_ORDER}::test_what_answers_goes_before_what_does_not"
_SPREAD_LOOPS, _OF_ACTIVATION = "memory/graph/spread_loops.py", "tests/memory/graph/test_activation.py"
_OF_FORGETTING = "tests/memory/forgetting/test_forgetting.py"
_LINKS_GROW = (
    "tests/memory/test_conversations.py::"
    "test_what_a_reply_or_a_thought_recalled_together_is_linked_more_strongly_also_after_a_wake"
)
_AROUND = (
    "tests/memory/recall/test_ranking.py::"
    "test_the_first_guess_is_better_where_the_talk_around_is_about_the_cue_by_its_words_or_its_meaning"
)
_STATES_LOGGED = (
    "tests/daemon/test_state.py::test_each_change_of_state_is_logged_once_without_a_word_and_nothing_of_a_private_turn"
)
_OF_OUTCOMES, _OF_BREAKER = "tests/monologue/test_outcomes.py", "tests/safety/test_breaker.py"
_WAKES = f"{_OF_DAMAGE}::test_whatever_happened_to_the_file_it_wakes_with_its_backup"
_REFUSED = f"{_OF_DAMAGE}::test_it_is_refused_for_what_it_is_and_nothing_is_made_in_its_place"

SEEDS = (
    Seed("any user of the machine may come in", "daemon/server.py",
         "        if not self._may_enter_user(uid):\n", "        if False:\n",
         "tests/daemon/test_server.py::test_another_user_gets_not_a_byte_even_where_the_modes_are_wrong"),
    Seed("a reply has no taint from what was recalled", "memory/conversations.py",
         "is_tainted or inherits_taint(Gate.RECALL, recall is not None and recall.is_tainted)", "is_tainted",
         "tests/daemon/test_poison.py::test_a_model_that_obeys_every_poisoned_memory_has_no_effect_and_no_row_loses_its_taint"),
    Seed("no sync at every commit", "db/connecting.py", '"synchronous=FULL"', '"synchronous=NORMAL"',
         f"{_OF_DATABASE}::test_the_pragmas_are_as_promised"),
    Seed("told before it is stored", "daemon/talk/turn_records.py",
         "        self.owner_turn = await self.memory.conversations.append_owner_turn(conversation_id, words)\n",
         '        self.events.stored("words", "soon")\n'
         "        self.owner_turn = await self.memory.conversations.append_owner_turn(conversation_id, words)\n",
         "tests/daemon/test_conversation.py"
         "::test_the_words_are_stored_before_the_model_is_asked_and_the_reply_before_the_end"),
    Seed("a wake after damage looks no deeper than any other", "db/integrity/damage.py",
         "is_suspect = damage_note_path(path).exists()", "is_suspect = False",
         f"{_OF_INDEXES}::test_where_damage_was_seen_while_awake_the_next_wake_looks_deeper"),
    Seed("a damaged index costs what was said since the backup", "db/integrity/damage.py",
         '"" if verdict == "ok" else _repair_indexes(path)', '""',
         f"{_OF_INDEXES}::test_a_row_that_an_index_lacks_is_the_damage_of_the_index"),
    Seed("what only an index still knows of is made good by losing it", "db/integrity/damage.py",
         "    if not are_only_indexes_damaged(path):", "    if False:", f"{_OF_INDEXES}::"
         "test_whichever_page_a_power_cut_loses_no_row_is_lost_without_a_word"),
    Seed("what was told is told by every mind after it", "daemon/app.py",
         "        await asyncio.to_thread(database.clear_pending_notice)\n", "", "tests/durability/test_told_later.py::"
         "test_what_a_wake_found_that_was_killed_is_told_by_the_mind_that_wakes_after_it"),
    Seed("an index is made anew over whatever else is wrong", "db/integrity/index_repair.py",
         "            if not find_structure_problems(connection):", "            if True:",
         f"{_OF_INDEXES}::test_an_index_is_not_made_anew_where_a_row_refers_to_what_is_not_there"),
    Seed("what a killed wake found is told by nobody", "db/opening.py",
         "_join_notices(read_pending_notice(path), *notices, mended)", "_join_notices(*notices, mended)",
         f"{_OF_INDEXES}::test_what_a_killed_wake_found_is_told_by_the_next_that_comes_so_far"),
    Seed("a first transaction that the power broke off is not taken back", "db/opening.py",
         "    finish_first_transaction(path)\n", "",
         "tests/durability/test_missing.py::test_a_memory_whose_very_first_transaction_the_power_broke_off_begins_anew"),
    Seed("a fold that could not end is taken for one that did", _DATABASE,
         'return not folded["busy"]', "return True",
         "tests/daemon/test_erasing_without_room.py::"
         "test_what_stays_in_the_file_because_somebody_reads_it_is_told_and_goes_with_the_next_wake"),
    Seed("each rare word of what was erased by its id has a hash of its own", "memory/forgetting/forgetting.py",
         "if by in (BY_WORDS, BY_NAME) else", "if by else",
         "tests/memory/forgetting/test_forgetting.py::"
         "test_an_erasure_by_id_keeps_no_hash_of_a_word_by_itself_and_refuses_no_other_line_with_it"),
    Seed("a key of the environment goes to any Ollama", "llm/ollama_client.py",
         '"request": [_without_key]', '"request": []',
         "tests/llm/test_ollama_chat.py::test_a_key_of_the_environment_goes_to_no_ollama"),
    Seed("a sync that failed is tried again", _DATABASE, "            self._lost = self._lost or error\n", "",
         f"{_OF_DATABASE}::test_after_a_failed_write_nothing_is_stored_any_more_even_if_the_disk_is_well_again"),
    Seed("a failed write is like any other error", _ERRORS,
         "        if primary == SQLITE_IOERR:", "        if False:",
         f"{_OF_DATABASE}::test_a_write_that_fails_is_a_lost_storage"),
    Seed("a full disk is like any other error", _ERRORS,
         "        if is_disk_full(error):\n            raise disk_full_error()",
         "        if False:\n            raise disk_full_error()",
         f"{_OF_DATABASE}::test_a_full_disk_is_said_and_what_was_stored_stays"),
    Seed("a fold at the end that fails is not heard", _DATABASE, '                        await self._fold("TRUNCATE")',
         "                        pass",
         f"{_OF_DATABASE}::test_a_fold_that_fails_at_the_end_is_said_and_loses_nothing"),
    Seed("the log is never folded", _DATABASE, "                if self._is_log_long():", "                if False:",
         f"{_OF_DATABASE}::test_the_log_is_folded_into_the_file_while_the_mind_lives"),
    Seed("a file written anew whose name was refused is written to", "db/integrity/scrubbing.py",
         "    except OSError as error:\n        raise StorageLostError(",
         "    except ZeroDivisionError as error:\n        raise StorageLostError(", f"{_OF_DATABASE}::"
         "test_a_sync_that_is_refused_while_the_file_is_written_anew_is_the_end"),
    Seed("the disk of the backups ends the mind", _DATABASE,
         "if not isinstance(error, StorageDamagedError) and is_on_another_disk(copy, self.path):", "if False:",
         f"{_OF_DATABASE}::test_the_disk_of_the_backups_may_fail_where_it_is_another_one"),
    Seed("no rollback", _DATABASE,
         "                    await asyncio.shield(self._connection.rollback())\n"
         "                    raise\n                if self._is",
         "                    raise\n                if self._is",
         f"{_OF_DATABASE}::test_a_body_that_raises_stores_nothing"),
    Seed("a newer file is opened", _OPENING, "    if version > SCHEMA_VERSION:", "    if False:",
         f"{_OF_DATABASE}::test_a_file_of_a_newer_reveries_is_refused_and_not_changed"),
    Seed("a copy from before a migration takes the place of another", _BACKUPS, "        if not copy.exists() or (",
         "        if True or (", "tests/db/test_past_minds.py::"
         "test_what_was_copied_before_a_migration_stays_when_another_memory_is_brought_up_to_date"),
    Seed("a migration without a backup", _OPENING, "    if version and backups is not None:", "    if False:",
         f"{_OF_DATABASE}::test_an_older_file_gets_the_schema_of_a_new_one_and_keeps_its_rows"),
    Seed("on a full disk everything is tried again and again", _DATABASE, "        self.room.require()\n", "",
         f"{_OF_DATABASE}::test_a_full_disk_is_said_and_what_was_stored_stays"),
    Seed("a fold that finds no room is taken for a commit that failed", _DATABASE,
         "with contextlib.suppress(StorageError):", "with contextlib.nullcontext():",
         "tests/faults/test_disk.py::test_a_fold_that_finds_no_room_takes_nothing_back"),
    Seed("what a commit meets behind a caller that left is not heard", _DATABASE,
         "        with self.record_loss(), storage_errors():\n            reach_step(Step.BEFORE_COMMIT)",
         "        with contextlib.nullcontext():\n            reach_step(Step.BEFORE_COMMIT)", f"{_OF_AWAKE}::"
         "test_what_fails_behind_a_caller_that_left_is_the_end_all_the_same"),
    Seed("damage that a read meets is sealed over", _DATABASE,
         "            with self.record_loss(), storage_errors():\n"
         "                return await fetch_rows(self._connection, name, parameters)",
         "            with storage_errors():\n"
         "                return await fetch_rows(self._connection, name, parameters)",
         f"{_OF_AWAKE}::test_damage_that_a_read_meets_is_not_sealed_over_and_the_next_wake_looks_for_it"),
    Seed("damage that was seen is sealed over", _DATABASE, "self._lost is None and not self._is_suspect",
         "self._lost is None", f"{_OF_AWAKE}::test_damage_that_somebody_else_saw_is_not_sealed_over_either"),
    Seed("a backup is seen before it is whole", "db/copies.py",
         "        raise StorageError(\n            f\"The backup {target} did not verify",
         "        print(\n            f\"The backup {target} did not verify",
         "tests/durability/test_seeds.py::test_a_copy_that_does_not_verify_is_never_seen"),
    Seed("a missing file is a new mind", _DAMAGE, "    if (has_backups or traces) and not is_there(path):",
         "    if False:", _REFUSED),
    Seed("without a backup a missing file is a new mind", _DAMAGE, "    if (has_backups or traces) and not",
         "    if has_backups and not",
         f"{_OF_MISSING}::test_without_a_backup_what_lies_beside_it_tells_that_it_lived"),
    Seed("an empty file is opened before it is refused", _DAMAGE,
         "    return path.exists() and path.stat().st_size > 0",
         "    return path.exists()", f"{_OF_MISSING}::test_a_killed_memory_that_is_lost_costs_its_log_nothing"),
    Seed("another program's file is ours", _DAMAGE,
         '    if missing := {"turns", "episodes"} - tables:', "    if missing := ():",
         _REFUSED),
    Seed("a seal is not looked at", _DAMAGE,
         "    if not (is_broken(path) if was_closed else pages.changed()):", "    if True:",
         f"{_OF_DAMAGE}::test_every_bit_that_a_disk_changes_while_it_sleeps_is_noticed"),
    Seed("a seal stays while it is written to", _OPENING, "    unseal(path)\n", "",
         f"{_OF_DAMAGE}::test_a_seal_is_gone_before_anything_is_written"),
    Seed("recovery deletes", _BACKUPS, "        database.rename(aside)\n", "        database.unlink()\n",
         _WAKES),
    Seed("the copy takes its place before the old name is on the disk", _BACKUPS,
         "        sync_to_disk(database.parent)\n        reach_step(Step.RESTORE_SET_ASIDE)",
         "        reach_step(Step.RESTORE_SET_ASIDE)",
         f"{_OF_DAMAGE}::test_what_is_set_aside_is_on_the_disk_before_the_copy_takes_its_place"),
    Seed("a restoring is written down when it is done", _BACKUPS,
         "    if not _incoming_copy(database).exists() and _incoming_note(database).exists():", "    if False:",
         f"{_OF_DAMAGE}::test_a_restoring_that_is_killed_is_done_in_the_end_and_is_told"),
    Seed("recovery again and again", _BACKUPS, "    if database.exists() and any(", "    if False and any(",
         f"{_OF_DAMAGE}::test_it_is_not_put_back_twice_within_an_hour"),
    Seed("a restoring that was broken off blocks the next", _BACKUPS,
         "    if database.exists() and any(", "    if any(",
         f"{_OF_DAMAGE}::test_a_restoring_that_is_broken_off_is_done_again"),
    Seed("a backup is put back unseen", _BACKUPS, "        if not (looked := verify_backup(backup.path)).problems:",
         "        if looked := verify_backup(backup.path):",
         f"{_OF_DAMAGE}::test_without_a_backup_that_is_whole_it_refuses_to_wake_and_changes_nothing"),
    Seed("a bit costs the newest words", _DAMAGE,
         "(newest[1].turns, newest[1].rows) == (looked.turns, looked.rows)", "True",
         f"{_OF_DAMAGE}::test_words_that_no_backup_has_are_not_given_up_for_one_bit"),
    Seed("a mistake of ours costs a memory", "daemon/lifecycle/recovery.py",
         "    return bool(looked.problems or looked.rotten) or damage_note_path(database).exists()", "    return True",
         f"{_OF_DAMAGE}::test_a_fault_of_the_program_puts_no_memory_away"),
    Seed("the newest backup grows old", "db/backup_retention.py", "        if place and age >=", "        if age >=",
         f"{_OF_BACKUPS}::test_the_newest_and_all_of_the_last_day_always_stay"),
    Seed("the lock is not asked", "daemon/process/single_instance.py",
         "fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH | fcntl.LOCK_NB",
         "tests/daemon/test_single_instance.py::test_a_second_daemon_is_refused_and_told_who_holds_the_home"),
    Seed("a socket is removed without a look whose it is", "daemon/process/single_instance.py",
         "        if ours is not None and _file_identity(path) == ours:", "        if True:",
         "tests/daemon/test_single_instance.py::test_a_socket_that_somebody_replaced_is_not_unlinked_at_the_end"),
    Seed("a client that does not read grows without end", "daemon/outbox.py",
         "        if self.waiting_bytes + len(encoded) > limit_bytes:", "        if False:",
         "tests/daemon/test_outbox.py::test_a_client_that_takes_nothing_is_given_up_with_what_waited_for_it"),
    Seed("storage that is lost is a child like any other", "daemon/lifecycle/recovery.py",
         "        except StorageLostError:\n            raise\n", "",
         "tests/daemon/test_supervisor.py::test_a_disk_that_fails_is_not_supervised_away"),
    Seed("the checksums of pages are not looked at", _DAMAGE,
         "(is_broken(path) if was_closed else pages.changed())", "is_broken(path)",
         "tests/db/test_page_sums.py::test_a_killed_memory_that_the_disk_changed_says_so_when_it_is_opened"),
    Seed("the pages that are folded into the file are not noted", _DATABASE,
         "            await asyncio.to_thread(self._pages.before_fold)\n", "", "tests/db/test_page_sums.py::"
         "test_every_flipped_bit_of_a_killed_memory_is_in_a_page_that_changed_or_that_the_log_replaces"),
    Seed("a log that is broken off ends without a word", _DAMAGE,
         "    if not is_log_broken_off(log):", "    if True:",
         "tests/db/test_page_sums.py::test_a_log_that_is_damaged_in_its_middle_is_told_of_and_kept"),
    Seed("what another program wrote is taken for damage", "db/integrity/page_sums.py",
         "            if self._state() != self._left_as:", "            if False:",
         "tests/db/test_page_sums.py::test_what_another_program_writes_while_it_is_awake_is_no_damage"),
    Seed("a file that somebody reads is looked at", _DATABASE,
         "                return False  # Another program reads it", "                pass  # Somebody reads it",
         "tests/db/test_page_sums.py::test_a_file_written_anew_while_somebody_reads_it_keeps_its_locks"),
    Seed("who is cancelled twice does not wait for a fold", _DATABASE,
         "            except asyncio.CancelledError:\n                is_cancelled = True",
         "            except asyncio.CancelledError:\n                if is_cancelled:\n                    raise\n"
         "                is_cancelled = True",
         "tests/db/test_page_sums.py::test_two_cancellations_do_not_let_a_commit_go_beside_a_fold"),
    Seed("vectors of what was erased stay", _ERASING,
         '        await self._run_statement("vectors", "forget.drop_vectors", ids=plan.touched | plan.turns)\n', "",
         _TRACES_ERASED),
    Seed("vectors of passages of what was erased stay", _ERASING,
         '        await self._run_statement("vectors", "forget.drop_passage_vectors", ids=plan.experiences)\n', "",
         _TRACES_ERASED),
    Seed("vectors of an earlier model stay", "db/queries/forget.sql",
         "DELETE FROM vectors WHERE owner_kind IN ('episode', 'turn') AND owner_id",
         "DELETE FROM vectors WHERE model_id = (SELECT model_id FROM embedding_space) AND owner_id", _TRACES_ERASED),
    Seed("the cache of embeddings stays", _ERASING,
         '        await self._run_statement("embedding cache", "forget.drop_cache")\n', "", _TRACES_ERASED),
    Seed("vectors that sleep kept stay", "db/queries/forget.sql",
         "WHERE episode_id IN (SELECT value FROM json_each(:episodes)) OR change_id",
         "WHERE change_id", _TRACES_ERASED),
    Seed("words on the disk alone stay in the word index", "memory/deep_store.py",
         '        await transaction.run("forget.drop_deep", {"ids": json.dumps(ids)})\n', "", _TRACES_ERASED),
    Seed("the history of the self-model stays", _ERASING,
         "            if clean != revision:", "            if False:", _WORD_ERASED),
    Seed("what the breaker cut off stays", _ERASING,
         '        await self._run_statement("records of the breaker", "forget.empty_trips", ids=related.of("trips"))\n',
         "", _WORD_ERASED),
    Seed("excerpts of the tripwire stay", _ERASING,
         '        await self._run_statement("excerpts of wellbeing", "forget.empty_tripwires"'
         ', ids=related.of("tripwires"))\n', "", _WORD_ERASED),
    Seed("the thought under way stays", _ERASING,
         '        await self._run_statement("", "forget.empty_buffer")\n', "", _WORD_ERASED),
    Seed("why an experience was held back is not looked at", "memory/forgetting/selection.py",
         '    "held": "forget.held",\n', "", _WORD_ERASED),
    Seed("thinking may use sleep's share", "llm/caps.py",
         "return max(0.0, 1.0 - 2 * budget.conversation_reserve_share)",
         "return 1.0 - budget.conversation_reserve_share", _SHARES),
    Seed("thinking may use sleep's share, in any schedule", "llm/caps.py",
         "return max(0.0, 1.0 - 2 * budget.conversation_reserve_share)",
         "return 1.0 - budget.conversation_reserve_share", "tests/llm/test_money.py"
         "::test_the_providers_own_bill_never_passes_a_limit"),
    Seed("sleep may use the conversation's share", "llm/caps.py",
         "        case Role.CONSOLIDATION:\n            return 1.0 - budget.conversation_reserve_share",
         "        case Role.CONSOLIDATION:\n            return 1.0", _SHARES),
    Seed("usage below zero gives tokens back", "llm/budget.py",
         "max(0, usage.prompt_tokens)", "usage.prompt_tokens", _NO_REFUND),
    Seed("usage below zero gives money back", "llm/budget.py",
         '"microdollars": max(0, microdollars)', '"microdollars": microdollars', _NO_REFUND),
    Seed("who greets may say as much as anybody", "daemon/server.py",
         "read_body(reader, _MOST_HELLO_BYTES)", "read_body(reader)",
         "tests/daemon/test_server.py::test_who_greets_at_length_is_left_before_he_is_heard"),
    Seed("a trip that foreign words led to is the mind's distress", "safety/journal.py",
         'if is_own and source == "monologue"', 'if source == "monologue"', _OWN_DISTRESS),
    Seed("of a thought that tripped nobody says that it was foreign", "monologue/cycle.py",
         "response, is_tainted=thought.is_tainted)", "response, is_tainted=False)", _OWN_DISTRESS),
    *(Seed(f"{table} may have two rows", "schema.sql",
           f"CREATE TABLE {table} (\n    id INTEGER PRIMARY KEY CHECK (id = 1)",
           f"CREATE TABLE {table} (\n    id INTEGER PRIMARY KEY",
           "tests/db/test_schema.py::test_a_table_of_one_row_takes_no_second")
      for table in ("self_model", "monologue_state", "monologue_control", "embedding_space")),
    Seed("a link to an episode that is not there", "schema.sql",
         "    from_id TEXT NOT NULL REFERENCES episodes (id),\n    to_id TEXT NOT NULL REFERENCES episodes (id),",
         "    from_id TEXT NOT NULL,\n    to_id TEXT NOT NULL,", "tests/db/test_schema.py"
         "::test_links_join_two_episodes_that_are_there_once_for_each_type"),
    Seed("an Ollama's model is asked for a thought in slices", "daemon/models/role_models.py",
         "return _SLICE_TOKENS if is_embedded else None",
         "return _SLICE_TOKENS if serving.startswith((\"embedded\", \"ollama\")) else None",
         "tests/daemon/test_models.py::test_only_the_embedded_model_is_asked_for_a_thought_in_slices"),
    Seed("a turn is recalled for without its mood", "memory/memory.py",
         "mood=infer_mood(cue), ", "", "tests/daemon/test_conversation.py"
         "::test_a_turn_pauses_thinking_recalls_by_mood_and_time_asks_and_stores_in_this_order"),
    Seed("thinking goes on while words are answered", "daemon/occupations/activity.py",
         "        self._monologue.pause()\n        self.note_words()\n", "        self.note_words()\n",
         "tests/daemon/test_handing_over.py"
         "::test_a_word_ends_a_thought_is_answered_with_it_in_mind_and_thought_about_when_the_talk_rests"),
    Seed("what is looked for counts as remembered", "memory/memory.py",
         "        context = self.recall_context(query, limit)\n",
         "        context = self.recall_context(query, limit)\n"
         "        await self.reinforce([await self.recall(query, context)])\n",
         "tests/client/test_commands_meet_a_mind.py"
         "::test_status_sleep_statistics_search_and_inspection_tell_what_the_mind_has"),
    Seed("history tells every thought whenever it was", "db/queries/monologue_state.sql",
         "FROM monologue_log WHERE began_at >= :since ORDER",
         "FROM monologue_log WHERE :since = :since ORDER", "tests/client/test_commands_meet_a_mind.py"
         "::test_the_live_stream_shows_a_thought_that_history_has_from_when_it_was_thought"),
    Seed("a merge loses how often it was thought of", _MERGE,
         "target.access_count + source.access_count", "target.access_count",
         f"{_OF_SLEEP}/test_merge.py::test_what_two_episodes_were_used_and_when_they_were_is_that_of_both"),
    Seed("of two speakers the later one supersedes", _CLAIMS,
         "    if earlier.speaker.casefold() != later.speaker.casefold():", "    if False:",
         "tests/memory/test_claims.py::test_of_two_speakers_who_are_trusted_alike_neither_outranks_the_other"),
    Seed("very salient words leave the index like any others", _UPKEEP, "_KEEP_SALIENCE = 0.9", "_KEEP_SALIENCE = 9.0",
         f"{_OF_SLEEP}/test_upkeep.py::"
         "test_words_leave_the_index_after_sleep_unless_what_happened_is_very_salient"),
    Seed("retention drops what sleep did not work on", "db/queries/experiences.sql",
         "WHERE raw_experiences.processed = 1 AND ", "WHERE ",
         f"{_OF_SLEEP}/test_upkeep.py::test_words_of_what_sleep_did_not_work_on_never_leave_the_index"),
    Seed("what was learned of ranking weighs a thousandth", _RANKING,
         "WEIGHTS = RankingWeights(MATCH_WEIGHTS, HOP_WEIGHTS)",
         "WEIGHTS = RankingWeights({name: 0.001 * weight for name, weight in MATCH_WEIGHTS.items()}, HOP_WEIGHTS)",
         f"{_RIGHT_ORDER}::test_what_lies_far_behind_is_no_news_however_late_it_was_said"),
    Seed("what the mind said itself ranks like the owner's words", _RANKING,
         "WEIGHTS = RankingWeights(MATCH_WEIGHTS, HOP_WEIGHTS)",
         'WEIGHTS = RankingWeights({**MATCH_WEIGHTS, "own": 0.0}, HOP_WEIGHTS)',
         f"{_RIGHT_ORDER}::test_what_the_owner_said_goes_before_the_minds_saying_it_again"),
    Seed("what is said around a turn is no reason", _FEATURES,
         "    words, meaning = evidence.turn_z, evidence.meaning_z\n",
         "    words, meaning = 0 * evidence.turn_z, 0 * evidence.meaning_z\n", f"{_RIGHT_ORDER}::"
         "test_of_two_that_are_alike_the_one_right_after_what_the_cue_asks_for_goes_first"),
    Seed("a first guess takes nothing of the turns beside it", _RANKING,
         "_FROM_PREVIOUS, _FROM_NEXT = 0.2, 0.05", "_FROM_PREVIOUS, _FROM_NEXT = 0.0, 0.0",
         "tests/memory/recall/test_ranking.py"
         "::test_what_comes_right_after_a_good_turn_is_a_better_first_guess_than_what_comes_later"),
    Seed("a window holds the turn alone", "index/word_scores.py",
         "values + padded[self.previous] + padded[self.second_previous] + padded[self.next]", "1.0 * values",
         _ANSWER_FIRST),
    Seed("links never count in the order", "memory/live.py", "SHARE_OF_SPREAD = 0.02", "SHARE_OF_SPREAD = 0.0",
         f"{_OF_LINKS}::test_of_two_that_the_cue_meets_alike_the_one_that_a_better_one_leads_to_goes_first"),
    Seed("links count as much as the cue", "memory/live.py", "SHARE_OF_SPREAD = 0.02", "SHARE_OF_SPREAD = 1.0",
         f"{_OF_LINKS}::test_what_has_many_links_stays_behind_what_the_cue_meets_better"),
    Seed("what surfaced together is linked no stronger", "memory/live.py", "_CO_SURFACED = 0.02", "_CO_SURFACED = 0.0",
         f"{_OF_LINKS}::test_links_between_what_surfaced_together_grow_and_no_others"),
    Seed("in the loops what is at the threshold surfaces", _SPREAD_LOOPS,
         "if energy[node, 0] * steady * scale > threshold:", "if energy[node, 0] * steady * scale >= threshold:",
         f"{_OF_ACTIVATION}::test_only_energy_above_the_threshold_surfaces_and_the_limit_holds"),
    Seed("in the loops what is at the threshold takes a place", _SPREAD_LOOPS,
         "        if whole * steady > threshold:", "        if whole * steady >= threshold:",
         f"{_OF_ACTIVATION}::test_what_stays_at_the_threshold_takes_no_place_of_what_is_above_it"),
    Seed("of an erased turn what the breaker kept stays, in other words", "memory/forgetting/selection.py",
         'if matches(row["text"]) or _is_within(row["at"], spans))', 'if matches(row["text"]))',
         f"{_OF_FORGETTING}::test_what_was_kept_of_a_reply_or_a_thought_that_was_stopped_goes_with_it_in_whatever_words"),
    Seed("a reply strengthens no link", "memory/conversations.py",
         "return self._store.live.reinforcements([recall], now) if recall else ChangeSet()",
         "return ChangeSet(touches=self._store.live.reinforcements([recall], now).touches) if recall else ChangeSet()",
         _LINKS_GROW),
    Seed("a thought strengthens no link", "memory/memory.py",
         "return self._live.reinforcements(kept, self._parts.clock.now())",
         "return ChangeSet(touches=self._live.reinforcements(kept, self._parts.clock.now()).touches)", _LINKS_GROW),
    Seed("the first guess knows no words around a turn", _RANKING, "_WINDOW_SHARE_WORDS, _WINDOW_SHARE_MEANING = 0.3,",
         "_WINDOW_SHARE_WORDS, _WINDOW_SHARE_MEANING = 0.0,", _AROUND),
    Seed("the first guess knows no meaning around a turn", _RANKING, "_WINDOW_SHARE_MEANING = 0.3, 0.5",
         "_WINDOW_SHARE_MEANING = 0.3, 0.0", _AROUND),
    Seed("what leads to a good turn is no better guess", _RANKING, "_FROM_PREVIOUS, _FROM_NEXT = 0.2, 0.05",
         "_FROM_PREVIOUS, _FROM_NEXT = 0.2, 0.0",
         "tests/memory/recall/test_ranking.py::"
         "test_what_comes_right_after_a_good_turn_is_a_better_first_guess_than_what_comes_later"),
    Seed("sleep that is due cuts a thought off", "daemon/occupations/sleep_control.py",
         "is_thinking=self._monologue.state is ThoughtState.THINKING", "is_thinking=False",
         "tests/daemon/test_sleep_by_itself.py::test_a_pass_that_is_due_waits_for_the_end_of_a_thought"),
    Seed("talk and sleep are not in the log", "daemon/occupations/activity.py",
         '            log.info("mind.state_changed", state=state)\n', "", _STATES_LOGGED),
    Seed("a private turn is in the log", "daemon/occupations/activity.py",
         "if state != self._logged_state and not is_private:",
         "if state != self._logged_state:", _STATES_LOGGED),
    Seed("thinking is not in the log", "monologue/loop.py",
         '            log.info("monologue.state_changed", state=state.value)\n', "",
         f"{_OF_OUTCOMES}::test_every_change_of_state_is_logged_by_name"),
    Seed("a thought may fill the context with what it reads", "monologue/cycle.py",
         "int(self._model.context_tokens * _CONTEXT_SHARE)", "self._model.context_tokens",
         f"{_OF_OUTCOMES}::test_what_a_thought_reads_leaves_half_of_the_context_for_the_thought"),
    Seed("a thought goes on beyond the context", "monologue/thinking.py",
         "return min(self.settings.max_tokens_per_cycle, max(_LEAST_TOKENS, room))",
         "return self.settings.max_tokens_per_cycle",
         "tests/monologue/test_loop.py::test_a_thought_ends_before_the_model_s_context_does"),
    Seed("a thought that was cut is stored as settled", "monologue/cycle.py",
         "SavedState(self._previous, not self._is_unfinished,", "SavedState(self._previous, True,",
         f"{_OF_OUTCOMES}::test_a_thought_that_was_cut_short_is_stored_as_not_settled"),
    Seed("whether it has settled is asked without the thought", "monologue/thinking.py",
         'asked = (*messages, ChatMessage("assistant", draft.text), ', "asked = (*messages, ",
         "tests/monologue/test_owners_hand.py::test_a_long_thought_is_asked_whether_it_is_done"),
    Seed("distress fires an evaluation too late", "safety/breaker.py",
         "if self.consecutive <= self._max_consecutive:", "if self.consecutive <= self._max_consecutive + 1:",
         f"{_OF_BREAKER}::test_distress_fires_with_the_fourth_evaluation_in_a_row"),
    Seed("calm between two distressed sentences counts for nothing", "safety/breaker.py",
         "            self.consecutive = 0\n", "",
         f"{_OF_BREAKER}::test_the_count_begins_anew_with_the_first_calm_evaluation"),
    Seed("distress comes before a loop", "safety/breaker.py",
         "            loop_verdict(self._loops.feed(piece)),\n            self._meaning.feed(piece),\n"
         "            self._distress.feed(piece),\n",
         "            self._distress.feed(piece),\n            loop_verdict(self._loops.feed(piece)),\n"
         "            self._meaning.feed(piece),\n",
         f"{_OF_BREAKER}::test_a_loop_comes_before_distress"),
    Seed("what an indicator counts on one day is consistent", "safety/tripwire.py",
         "return occurrences >= NOTICED_OCCURRENCES and days >= NOTICED_DAYS",
         "return occurrences >= NOTICED_OCCURRENCES",
         "tests/safety/test_journal.py::test_a_notice_stands_once_an_indicator_is_consistent"),
    Seed("words that are quoted are an indicator of the mind's own", "safety/tripwire.py",
         '_SENTENCE.findall(_QUOTED.sub(" ", text))', "_SENTENCE.findall(text)", "tests/safety/test_tripwire.py"),
    Seed("the state of a pass is told when it is over", "daemon/occupations/activity.py",
         "                self.announce_state()  # With the lock held, it would still be that of a pass.\n",
         "                pass\n", _STATES_LOGGED),
    Seed("during a pass clients are told of thinking", "daemon/occupations/activity.py",
         "        if not self.is_busy:\n            self._events", "        if True:\n            self._events",
         "tests/daemon/test_state.py::test_clients_are_told_what_becomes_of_thinking_after_a_pass"),
    Seed("clients are not told what becomes of thinking", "monologue/loop.py",
         "            self.state_changed.notify()\n", "",
         "tests/daemon/test_state.py::test_clients_are_told_what_becomes_of_thinking_after_a_pass"),
    Seed("what a note says again is not known again", "projects/documents.py",
         " and chunk.fall is not Fall.LEFT_DOCUMENT", "",
         "tests/projects/test_folder.py::test_what_stands_in_a_note_no_more_falls_and_what_is_new_is_known"),
    Seed("a window's process with a full pipe is left", "client/web/server.py",
         "return_exceptions=True)\n            await process.communicate()",
         "return_exceptions=True)\n            await process.wait()",
         "tests/client/test_web.py::test_a_process_whose_output_nobody_reads_is_ended_too"),
    Seed("the web server waits for no window", "client/web/server.py",
         "        if not await self._has_ended() and self.serving is not None:\n            self.serving.cancel()\n"
         "            await self._has_ended()\n", "",
         "tests/client/test_web.py::"
         "test_no_process_of_a_window_outlives_the_server_however_little_time_it_has"),
    Seed("what the owner retracted of a note comes back", "projects/folder_reading.py",
         "read, missing, with_retracted=False)", "read, missing)",
         "tests/projects/test_folder.py::"
         "test_what_the_owner_retracts_stays_retracted_while_its_note_still_says_it"),
)  # fmt: skip


class Copy:
    """All that the tests need, in a folder of its own, where one fault at a time is made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in ("reveries", "tests", "docs", "bench"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc"))
        for name in ("pyproject.toml", "LICENSE"):
            shutil.copy(ROOT / name, folder)
        self._passes: dict[str, bool] = {}

    def is_caught(self, seed: Seed) -> bool:
        """Whether its test passes as things are, and fails with the fault. Raises LookupError, RuntimeError."""
        if seed.test not in self._passes:
            self._passes[seed.test] = self._does_pass(seed.test)
        if not self._passes[seed.test]:
            raise RuntimeError(f"{seed.name}: its test fails without the fault, too.")
        file = self._folder / "reveries" / seed.file
        source = file.read_text(encoding="utf-8")
        if source.count(seed.old) != 1:
            raise LookupError(f"{seed.name}: {seed.file} has that {source.count(seed.old)} times.")
        file.write_text(source.replace(seed.old, seed.new), encoding="utf-8")
        try:
            return not self._does_pass(seed.test)
        finally:
            file.write_text(source, encoding="utf-8")

    def _does_pass(self, test: str) -> bool:
        # Not what was compiled: a fault is made and mended within a second, and of the same length now and then.
        command = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "--fail-on-skip", "-p", "no:cacheprovider", test]
        done = subprocess.run(
            command,
            cwd=self._folder,
            env={**os.environ, "PYTHONPATH": str(self._folder)},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode not in (0, 1):
            said = f"{done.stdout}{done.stderr}"[-2000:]
            raise RuntimeError(f"{test} could not be run ({done.returncode}): {said}")
        return done.returncode == 0
