"""What `make test` leaves out of everything, and why.

`make test` is what a person waits for before a commit. It runs every test function once, with the first of
its parameter sets, except for those in LEFT_OUT. `make test-all` runs everything.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
RAY = "starts several Rays or machines, or waits until those that are killed or stopped are missed"
SERVERS = "starts a browser or a server for itself alone"
KERNELS = "compiles kernels that nothing else in `make test` uses"
TOOLS = "needs a tool that only `make test-all` installs"
LEFT_OUT: dict[str, tuple[str, tuple[str, ...]]] = {
    "cluster/service/test_access.py": (
        SERVERS,
        ("test_what_is_sent_makes_no_lines_of_its_own_in_the_log",),
    ),
    "cluster/service/test_command.py": (
        SERVERS,
        (
            "test_a_server_that_is_not_there_or_not_ours",
            "test_a_terminal_shows_the_search_on_the_server_as_one_here",
            "test_other_problems_than_games_of_two",
        ),
    ),
    "cluster/service/test_deaths.py": (SERVERS, ()),
    "cluster/service/test_evaluations.py": (
        SERVERS,
        (
            "test_a_server_that_is_stopped_asks_for_nothing_twice",
            "test_a_server_that_is_killed_ends_with_the_same_digest",
            "test_a_search_that_nobody_asks_for_is_cancelled",
        ),
    ),
    "cluster/service/test_foreign.py": (
        SERVERS,
        (
            "test_nothing_of_others_is_taken_unless_it_is_allowed",
            "test_a_trial_has_limits",
            "test_a_process_that_is_killed_is_started_again",
            "test_environments_that_are_allowed_are_shown_and_searched",
            "test_a_server_that_is_to_allow_what_is_not_there_does_not_start",
            "test_parameters_that_end_a_process_are_refused",
        ),
    ),
    "cluster/service/test_fuzz.py": (TOOLS, ()),
    "cluster/service/test_head.py": (RAY, ()),
    "cluster/service/test_life.py": (
        SERVERS,
        (
            "test_a_search_that_was_cancelled_before_the_server_was_killed_does_not_go_on",
            "test_a_folder_has_one_server",
            "test_a_folder_that_cannot_be_written_is_refused",
            "test_a_folder_of_other_records_is_refused",
        ),
    ),
    "cluster/service/test_moves.py": (
        KERNELS,
        ("test_what_is_hidden_is_not_needed",),
    ),
    "cluster/service/test_page.py": (TOOLS, ()),
    "cluster/service/test_page_looks.py": (TOOLS, ()),
    "cluster/service/test_ray.py": (RAY, ()),
    "cluster/service/test_records.py": (SERVERS, ("test_a_server_tells_of_records_that_it_cannot_read",)),
    "cluster/service/test_searches.py": (
        KERNELS,
        (
            "test_a_dealt_fleet_is_not_told",
            "test_problems_beyond_two_players",
            "test_all_options_reach_the_search",
        ),
    ),
    "cluster/test_benchmark.py": (
        KERNELS,
        (
            "test_a_long_spec_is_folded_and_not_cut",
            "test_a_row_has_the_fields_that_programs_rely_on",
            "test_cut_playouts_are_rows_of_their_own",
        ),
    ),
    "cluster/test_checkpoint.py": (
        KERNELS,
        (
            "test_a_search_may_be_resumed_again_and_again",
            "test_a_search_goes_on_with_results_that_wait_and_jobs_that_are_out",
            "test_a_state_of_another_search_is_refused",
        ),
    ),
    "cluster/test_elasticity.py": (
        RAY,
        ("test_a_machine_joins_and_leaves_during_a_search_of_a_real_cluster",),
    ),
    "cluster/test_evaluators.py": (
        RAY,
        (
            "test_resources_that_no_machine_has_are_not_waited_for",
            "test_workers_without_the_file_give_the_digest_of_the_inline_search",
            "test_a_worker_that_is_killed_changes_nothing",
            "test_a_job_that_is_awaited_for_ever_is_run_again_after_the_others",
            "test_workers_that_play_a_match_have_its_evaluator_from_whoever_started_them",
        ),
    ),
    "cluster/test_experiment_command.py": (
        KERNELS,
        ("test_the_list_says_what_has_been_run", "test_smoke_on_ray_and_inline_gives_the_same_figures"),
    ),
    "cluster/test_experiment_figures.py": (KERNELS, ("test_every_line_against_a_player_is_played",)),
    "cluster/test_every_line.py": (KERNELS, ("test_the_search_never_loses",)),
    "cluster/test_forms_on_workers.py": (RAY, ()),
    "cluster/test_front_door.py": (
        RAY,
        (
            "test_on_workers_a_program_searches_a_game_of_its_own",
            "test_on_workers_a_program_gets_what_the_command_gets",
            "test_a_typed_program_is_checked_against_an_installed_copy",
            "test_a_program_that_would_search_while_its_game_is_loaded_is_told_so",
            "test_ctrl_c_ends_a_search_and_raises",
        ),
    ),
    "cluster/test_play.py": (
        KERNELS,
        (
            "test_a_person_sees_no_enemy_fleet_and_his_own",
            "test_at_the_end_a_hidden_game_says_how_to_go_on_and_shows_nothing",
            "test_in_python_whoever_plays_meets_the_strongest",
        ),
    ),
    "cluster/test_gomoku_net.py": (KERNELS, ("test_it_can_be_made_again",)),
    "cluster/test_handover.py": (
        RAY,
        ("test_a_short_search_starts_no_ray_and_a_long_one_goes_on_with_workers",),
    ),
    "cluster/test_interruption.py": (
        RAY,
        (
            "test_a_rule_that_never_ends_can_be_interrupted",
            "test_a_rule_that_never_ends_on_workers_can_be_interrupted",
        ),
    ),
    "cluster/test_match_command.py": (RAY, ("test_a_game_file_travels_with_the_match",)),
    "cluster/test_move_loss.py": (KERNELS, ("test_it_plays_and_judges",)),
    "cluster/test_own_games.py": (
        RAY,
        (
            "test_workers_without_the_file_give_the_same_digest",
            "test_plain_python_and_compiled_rules_of_one_game_give_one_digest",
        ),
    ),
    "cluster/test_plain_cluster.py": (
        RAY,
        (
            "test_a_cluster_with_another_banyan_is_told_from_ours_before_it_searches",
            "test_a_cluster_with_tokens_lets_in_who_has_the_token_and_tells_others_where_it_belongs",
            "test_a_setting_for_tokens_does_no_harm_where_the_cluster_asks_for_none",
            "test_when_the_head_has_gone_for_good_a_line_says_what_was_kept_and_how_to_go_on",
        ),
    ),
    "cluster/test_plan_tables.py": (KERNELS, ()),
    "cluster/test_preset_option.py": (
        KERNELS,
        ("test_search_and_strength_tell", "test_speedup_measures_the_preset_with_its_own_lanes"),
    ),
    "cluster/test_progress.py": (KERNELS, ("test_the_view_says_how_the_search_goes",)),
    "cluster/test_ray_ends.py": (
        RAY,
        (
            "test_a_command_says_that_ray_has_ended_and_goes_on",
            "test_a_ray_that_ends_again_and_again_is_given_up",
        ),
    ),
    "cluster/test_ray_executor.py": (
        RAY,
        (
            "test_a_stopped_worker_is_replaced_after_its_deadline_and_its_late_result_dropped",
            "test_what_a_stopped_worker_has_of_one_search_does_not_count_in_the_next",
            "test_a_budget_in_seconds_is_kept_within_three_tenths",
        ),
    ),
    "cluster/test_report.py": (SERVERS, ("test_another_command_is_run_again_and_one_that_fails_is_told",)),
    "cluster/test_speedup.py": (RAY, ()),
    "cluster/test_strength.py": (RAY, ("test_two_workers_play_the_games_of_one",)),
    "cluster/test_studies.py": (KERNELS, ()),
    "cluster/test_subtree.py": (KERNELS, ("test_what_is_proven_is_right_and_ends_the_search",)),
    "cluster/test_turns.py": (
        KERNELS,
        (
            "test_memory_ends_a_search_at_the_same_result",
            "test_a_budget_in_seconds_is_kept",
            "test_a_short_budget_in_seconds_has_a_move",
            "test_many_threads_and_short_stretches_lose_nothing",
            "test_scores_of_many_players_do_not_depend_on_stretches",
            "test_a_search_goes_on_after_a_checkpoint",
            "test_other_searches_go_on_as_before",
        ),
    ),
    "cluster/test_waiting.py": (RAY, ()),
    "deploy/test_dashboard.py": (TOOLS, ()),
    "deploy/test_deploy.py": (TOOLS, ()),
    "deploy/test_kubernetes.py": (TOOLS, ()),
    "games/test_gym.py": (KERNELS, ("test_simulations_repeat_in_another_process",)),
    "games/test_gym_table.py": (KERNELS, ("test_searches_obey_masks",)),
    "games/test_othello.py": (KERNELS, ("test_the_smallest_board_has_its_known_value",)),
    "search/test_learning.py": (KERNELS, ("test_a_full_table_is_searched_further",)),
}
"""Files below tests/: why, and which functions; none named: the whole file, which is not even imported."""


def ignores(path: Path) -> bool:
    """Whether a whole file is left out."""
    entry = LEFT_OUT.get(_name(path))
    return entry is not None and not entry[1]


def select(items: Sequence[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests that `make test` runs, and those that it leaves out."""
    chosen: list[pytest.Item] = []
    others: list[pytest.Item] = []
    seen: set[tuple[Path, str]] = set()
    for item in items:
        function = getattr(item, "originalname", item.name)
        _, left_out = LEFT_OUT.get(_name(item.path), ("", ()))
        again = (item.path, function) in seen
        (others if again or function in left_out else chosen).append(item)
        seen.add((item.path, function))
    return chosen, others


def missing() -> list[str]:
    """What LEFT_OUT names and tests/ does not have."""
    found = []
    for name, (_, functions) in LEFT_OUT.items():
        file = TESTS / name
        nodes = ast.parse(file.read_text(encoding="utf-8")).body if file.exists() else []
        known = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
        found += [f"{name}::{each}" for each in functions if each not in known]
        found += [] if file.exists() else [name]
    return found


def _name(path: Path) -> str:
    return path.relative_to(TESTS).as_posix()
