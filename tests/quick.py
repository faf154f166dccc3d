"""What `make test` leaves out of everything.

`make test` is what a person waits for before a commit. It runs each test function once, with
the first of its parameter sets, except for those in LEFT_OUT. `make test-all` runs everything.

LEFT_OUT has what takes more than about three seconds alone, beginning without compiled kernels: tests that
compile kernels, that start Ray, machines, servers or a browser, or that wait until what was killed is missed;
and those with a tool that only `make test-all` installs. A few such tests are run all the same, so that each
strategy, a Ray, a server and a Prometheus are seen by somebody.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
LEFT_OUT: dict[str, tuple[str, ...]] = {
    "cluster/test_warm.py": (
        "test_warm_compiles_every_kernel_once_for_all_strategies",
        "test_strategies_that_a_game_refuses_are_left_out",
    ),
    "cluster/test_games_commands.py": ("test_games_are_listed_without_loading_them_and_as_they_are",),
    "cluster/service/test_access.py": (
        "test_what_is_sent_makes_no_lines_of_its_own_in_the_log",
        "test_names_that_were_made_to_mean_this_machine_are_not_answered",
    ),
    "cluster/service/test_cluster.py": ("test_a_curve_is_kept_with_its_search",),
    "cluster/service/test_command.py": (
        "test_a_server_that_is_not_there_or_not_ours",
        "test_a_terminal_shows_the_search_on_the_server_as_one_here",
        "test_other_problems_than_games_of_two",
        "test_it_prints_what_a_search_here_prints",
        "test_ctrl_c_ends_the_search_and_prints_its_best_answer",
    ),
    "cluster/service/test_evaluations.py": (
        "test_a_server_that_is_stopped_asks_for_nothing_twice",
        "test_a_server_that_is_killed_ends_with_the_same_digest",
        "test_a_search_that_nobody_asks_for_is_cancelled",
        "test_searches_that_nobody_asks_for_give_their_places_to_others",
        "test_clients_go_on_when_the_server_is_killed_and_started_again",
        "test_clients_in_other_processes_get_the_digest_of_an_evaluator_file",
        "test_a_cancelled_search_has_a_result_and_goes_on_where_it_was",
    ),
    "cluster/service/test_foreign.py": (
        "test_nothing_of_others_is_taken_unless_it_is_allowed",
        "test_a_trial_has_limits",
        "test_time_for_which_others_have_the_cores_does_not_count",
        "test_a_process_that_is_killed_is_started_again",
        "test_environments_that_are_allowed_are_shown_and_searched",
        "test_a_server_that_is_to_allow_what_is_not_there_does_not_start",
        "test_parameters_that_end_a_process_are_refused",
        "test_sound_games_of_others_are_shown_and_searched",
        "test_only_what_is_allowed_is_listed",
    ),
    "cluster/service/test_full_disk.py": (
        "test_an_end_that_cannot_be_stored_is_told_when_it_can",
        "test_a_server_whose_searches_are_all_over_says_that_it_can_store_nothing",
    ),
    "cluster/service/test_fuzz.py": (),
    "cluster/service/test_life.py": (
        "test_a_server_that_was_killed_finishes_every_search_with_its_digest",
        "test_a_server_that_is_told_to_end_keeps_what_runs",
        "test_a_search_that_was_cancelled_before_the_server_was_killed_does_not_go_on",
        "test_a_folder_has_one_server",
        "test_without_a_token_nobody_else_may_reach_it",
        "test_a_folder_that_cannot_be_written_is_refused",
        "test_a_folder_of_other_records_is_refused",
        "test_a_server_ends_while_kernels_compile_and_answers_who_waits_for_them",
        "test_a_search_that_ends_the_server_each_time_is_failed_and_no_other",
        "test_only_deaths_of_the_server_alone_count",
        "test_none_outlives_its_parent",
    ),
    "cluster/service/test_moves.py": (
        "test_what_is_hidden_is_not_needed",
        "test_at_morris_alphabeta_moves",
        "test_the_textbook_search_can_be_asked_for",
        "test_it_sees_what_wins",
        "test_the_server_answers_others_meanwhile_and_moves_come_one_after_the_other",
        "test_the_list_of_games_says_whom_one_meets",
        "test_more_than_can_wait_are_told_to_come_again",
        "test_moves_of_clients_that_have_gone_hold_up_nobody",
    ),
    "cluster/service/test_page.py": (),
    "cluster/service/test_page_cluster.py": (),
    "cluster/service/test_page_looks.py": (),
    "cluster/service/test_pool.py": ("test_searches_that_run_together_have_the_answers_of_searches_alone",),
    "cluster/service/test_ray.py": (),
    "cluster/service/test_records.py": (
        "test_a_server_tells_of_records_that_it_cannot_read",
        "test_nobody_else_can_read_what_is_stored",
    ),
    "cluster/service/test_reports.py": (
        "test_a_measurement_has_the_form_and_the_digests_of_the_command_line",
        "test_a_server_that_does_not_allow_it_says_so",
        "test_real_workers_are_measured_and_a_server_that_stops_ends_it",
        "test_the_page_lists_draws_and_measures",
    ),
    "cluster/service/test_searches.py": (
        "test_a_dealt_fleet_is_not_told",
        "test_problems_beyond_two_players",
        "test_all_options_reach_the_search",
        "test_cancelling_leaves_the_best_answer_and_resuming_goes_on",
    ),
    "cluster/test_archive.py": ("test_each_changed_bit_is_found_out",),
    "cluster/test_ask_tell_files.py": (
        "test_a_program_that_is_killed_goes_on_from_its_file",
        "test_a_search_is_saved_and_continued_with_nothing_asked_twice",
    ),
    "cluster/test_benchmark.py": (
        "test_a_long_spec_is_folded_and_not_cut",
        "test_a_row_has_the_fields_that_programs_rely_on",
        "test_cut_playouts_are_rows_of_their_own",
        "test_openspiel_makes_the_searches_that_it_is_asked_for",
        "test_a_rival_is_measured_beside_with_the_same_searches",
        "test_random_tictactoe_goes_as_arithmetic_says",
    ),
    "cluster/test_broken_games.py": (
        "test_a_rule_that_raises_late_is_one_line",
        "test_debug_shows_the_traceback_too",
    ),
    "cluster/test_checkpoint.py": (
        "test_a_search_may_be_resumed_again_and_again",
        "test_a_search_goes_on_with_results_that_wait_and_jobs_that_are_out",
        "test_a_state_of_another_search_is_refused",
        "test_checkpoints_come_as_often_as_asked_and_at_the_end",
        "test_a_search_with_a_budget_in_seconds_goes_on_for_the_time_that_is_left",
        "test_a_large_checkpoint_is_written_less_often",
        "test_lanes_of_root_hand_in_their_trees_between_two_checkpoints",
        "test_a_checkpoint_that_cannot_be_written_stops_no_search",
        "test_a_description_that_cannot_be_is_refused",
    ),
    "cluster/test_cli.py": ("test_tables_are_whole_in_a_pipe_however_narrow_a_terminal_is_said_to_be",),
    "cluster/test_drivers.py": (
        "test_a_full_memory_ends_a_search_that_says_so",
        "test_time_ends_a_search_whoever_drives_it",
        "test_workers_give_that_answer",
    ),
    "cluster/test_elasticity.py": ("test_a_machine_joins_and_leaves_during_a_search_of_a_real_cluster",),
    "cluster/test_evaluators.py": (),
    "cluster/test_exact_strength.py": (
        "test_several_budgets_are_a_map",
        "test_it_is_taken_up_again_and_extended",
        "test_more_tries_go_on_from_fewer",
    ),
    "cluster/test_experiment_command.py": (
        "test_the_list_says_what_has_been_run",
        "test_smoke_on_ray_and_inline_gives_the_same_figures",
    ),
    "cluster/test_experiment_figures.py": (
        "test_every_line_against_a_player_is_played",
        "test_the_search_loses_no_line_of_tictactoe",
    ),
    "cluster/test_experiment_tables.py": ("test_every_row_names_games_and_players_that_there_are",),
    "cluster/test_forms_on_workers.py": (),
    "cluster/test_front_door.py": (
        "test_on_workers_a_program_searches_a_game_of_its_own",
        "test_on_workers_a_program_gets_what_the_command_gets",
        "test_a_typed_program_is_checked_against_an_installed_copy",
        "test_a_program_that_would_search_while_its_game_is_loaded_is_told_so",
        "test_ctrl_c_ends_a_search_and_raises",
        "test_a_result_shows_its_board_as_text_and_in_a_notebook",
    ),
    "cluster/test_gomoku_net.py": ("test_in_torch_it_says_what_it_says_in_numpy",),
    "cluster/test_handover.py": ("test_a_short_search_starts_no_ray_and_a_long_one_goes_on_with_workers",),
    "cluster/test_interruption.py": (
        "test_a_rule_that_never_ends_can_be_interrupted",
        "test_a_rule_that_never_ends_on_workers_can_be_interrupted",
    ),
    "cluster/test_match_command.py": (
        "test_a_game_file_travels_with_the_match",
        "test_two_workers_play_the_games_of_one",
        "test_games_of_killed_workers_are_played_again_and_count_once",
        "test_what_a_player_does_wrong_on_a_worker_is_said_here",
        "test_ctrl_c_prints_the_standing_and_leaves_what_was_played",
    ),
    "cluster/test_match_game.py": ("test_players_are_shown_the_position_with_its_past",),
    "cluster/test_own_games.py": (
        "test_workers_without_the_file_give_the_same_digest",
        "test_a_second_process_compiles_nothing_that_rules_in_plain_python_need",
        "test_plain_python_and_compiled_rules_of_one_game_give_one_digest",
        "test_check_says_all_is_well",
        "test_every_command_takes_the_file",
        "test_games_describes_a_file_and_leaves_out_a_package_that_is_broken",
    ),
    "cluster/test_plain_cluster.py": (
        "test_the_uses_that_readme_begins_with",
        "test_a_cluster_with_another_banyan_is_told_from_ours_before_it_searches",
        "test_a_cluster_with_tokens_lets_in_who_has_the_token_and_tells_others_where_it_belongs",
        "test_a_setting_for_tokens_does_no_harm_where_the_cluster_asks_for_none",
        "test_when_the_head_has_gone_for_good_a_line_says_what_was_kept_and_how_to_go_on",
        "test_a_cluster_without_tokens_gives_the_answer_of_one_process_also_when_a_machine_dies",
    ),
    "cluster/test_plan.py": (
        "test_workers_without_the_file_play_the_same_episodes",
        "test_the_printed_game_of_dice_is_played_almost_as_well_as_can_be",
        "test_steps_cut_an_episode_off",
        "test_a_budget_of_one_simulation_plays_badly",
        "test_a_plan_that_was_killed_goes_on",
        "test_episodes_depend_on_their_seeds_alone",
    ),
    "cluster/test_plan_blackjack.py": ("test_decisions_lose_little_and_know_nothing",),
    "cluster/test_plan_tables.py": (),
    "cluster/test_play.py": (
        "test_a_person_sees_no_enemy_fleet_and_his_own",
        "test_at_the_end_a_hidden_game_says_how_to_go_on_and_shows_nothing",
        "test_in_python_whoever_plays_meets_the_strongest",
        "test_moves_seed_and_a_file_to_begin_with",
        "test_in_python_the_same_is_told_as_on_the_command_line",
        "test_ctrl_c_offers_the_record",
        "test_what_is_told_depends_on_the_answers_and_not_on_the_fleet",
        "test_one_line_says_which_settings_play",
        "test_the_opponent_sees_no_fleet_either",
        "test_in_a_notebook_lines_are_asked_for_by_input",
        "test_nothing_is_taken_back_while_something_is_hidden",
        "test_in_python_ctrl_c_writes_the_record_and_raises",
        "test_save_and_load",
        "test_an_earlier_position_of_a_finished_hidden_game_may_be_looked_at",
    ),
    "cluster/test_preset_option.py": (
        "test_search_and_strength_tell",
        "test_speedup_measures_the_preset_with_its_own_lanes",
        "test_speedup_tells",
        "test_a_search_too_short_for_its_lanes_names_one_lane",
    ),
    "cluster/test_problems.py": (
        "test_where_chance_moves_nothing_is_searched",
        "test_benchmark_has_no_results_beyond_two_players",
        "test_trees_show_where_chance_moves",
    ),
    "cluster/test_progress.py": ("test_the_view_says_how_the_search_goes",),
    "cluster/test_prometheus.py": (
        "test_a_service_without_a_token_is_scraped_by_the_configuration_as_it_is",
    ),
    "cluster/test_ray_address.py": ("test_a_listener_that_is_not_ray_is_given_up",),
    "cluster/test_ray_ends.py": (),
    "cluster/test_ray_executor.py": (
        "test_a_stopped_worker_is_replaced_after_its_deadline_and_its_late_result_dropped",
        "test_what_a_stopped_worker_has_of_one_search_does_not_count_in_the_next",
        "test_a_budget_in_seconds_is_kept_within_three_tenths",
        "test_closing_leaves_no_process_behind",
        "test_all_workers_killed_at_once_change_nothing",
        "test_a_worker_that_stays_stopped_is_killed",
    ),
    "cluster/test_resume.py": (
        "test_searches_that_are_killed_at_random_moments_end_with_the_same_answer",
        "test_the_source_of_a_game_travels_in_the_checkpoint",
    ),
    "cluster/test_simulated_executor.py": ("test_saturation_is_found_and_longer_jobs_help",),
    "cluster/test_solve.py": ("test_a_game_whose_positions_come_again_has_no_tree",),
    "cluster/test_speedup.py": (),
    "cluster/test_strength.py": (
        "test_two_workers_play_the_games_of_one",
        "test_a_measurement_that_was_broken_off_goes_on",
        "test_costs_predict_the_throughput_with_a_worker_for_each_lane",
        "test_a_measurement_says_all_that_was_asked",
        "test_the_report_is_written_as_json_csv_and_pictures",
        "test_people_read_tables_in_80_columns",
    ),
    "cluster/test_subtree.py": (
        "test_what_is_proven_is_right_and_ends_the_search",
        "test_an_interrupted_search_goes_on_from_its_file",
        "test_a_checkpoint_between_two_stretches_goes_on_to_the_same_end",
        "test_its_throughput_is_measured_beside_searches_that_share_nothing",
        "test_threads_that_meet_often_grow_the_same_tree",
    ),
    "cluster/test_surroundings.py": (
        "test_a_closed_file_is_the_null_device",
        "test_a_narrow_encoding_costs_characters_and_no_command",
        "test_ray_starts_whatever_the_temporary_folder_is",
        "test_slow_rules_in_python_can_be_interrupted",
        "test_without_a_home_and_with_an_installation_of_others_one_line_names_the_cache",
    ),
    "cluster/test_threads.py": (
        "test_a_speedup_is_measured_with_threads",
        "test_an_interrupted_command_prints_what_it_has",
    ),
    "cluster/test_tree.py": ("test_figure_9_of_the_article_on_two_player_games",),
    "cluster/test_turns.py": (
        "test_memory_ends_a_search_at_the_same_result",
        "test_a_budget_in_seconds_is_kept",
        "test_many_threads_and_short_stretches_lose_nothing",
        "test_scores_of_many_players_do_not_depend_on_stretches",
        "test_a_search_goes_on_after_a_checkpoint",
        "test_other_searches_go_on_as_before",
        "test_progress_is_told_and_a_search_is_stopped_promptly",
        "test_rules_that_raise_end_the_search",
        "test_a_search_by_stretches_is_not_handed_over",
    ),
    "cluster/test_waiting.py": (),
    "cluster/test_worker_time.py": (
        "test_what_is_predicted_without_a_budget_is_short",
        "test_a_search_of_more_rounds_is_predicted_whole",
    ),
    "deploy/test_dashboard.py": (),
    "deploy/test_deploy.py": (),
    "deploy/test_kubernetes.py": (),
    "games/test_battleship.py": (
        "test_hits_too_far_apart_for_the_fleet_are_refused_at_once",
        "test_fleets_are_drawn_as_from_a_list_of_all_that_fit",
        "test_answers_are_those_of_the_naive_game",
    ),
    "games/test_battleship_looks.py": ("test_a_shot_looks_as_good_as_placements_of_ships_afloat_cover_it",),
    "games/test_contract.py": ("test_a_game_keeps_to_the_contract",),
    "games/test_gym.py": ("test_simulations_repeat_in_another_process",),
    "games/test_gym_table.py": ("test_searches_obey_masks",),
    "games/test_hex.py": ("test_small_boards_have_their_known_values",),
    "games/test_othello.py": ("test_the_smallest_board_has_its_known_value",),
    "games/test_own_games.py": ("test_the_simulator_that_waits_has_the_published_counts_and_waits",),
    "games/test_samegame.py": ("test_priority_keeps_the_colour_of_most_stones",),
    "games/test_solving.py": ("test_every_value_is_that_of_the_solution",),
    "games/test_thud.py": ("test_random_games_agree_with_the_slow_twin_move_for_move",),
    "search/test_ask_tell.py": (
        "test_a_full_memory_ends_a_search_that_has_no_other_budget",
        "test_an_evaluator_that_waits_is_asked_for_many_leaves_at_once",
    ),
    "search/test_async_evaluator.py": ("test_jobs_are_awaited_side_by_side",),
    "search/test_evaluator.py": (
        "test_the_network_of_the_page_plays_every_game_of_pieces_on_cells_and_refuses_others",
    ),
    "search/test_learning.py": (
        "test_a_full_table_is_searched_further",
        "test_an_episode_depends_on_its_number_alone",
    ),
    "search/test_monte_carlo_players.py": (
        "test_the_same_seed_gives_the_same_move",
        "test_a_budget_in_seconds_is_cpu_time",
        "test_a_budget_in_plies_is_the_same_on_every_machine",
    ),
    "search/test_morris_agent.py": ("test_it_grows_the_tree_of_its_slow_twin",),
    "search/test_openspiel_games.py": (
        "test_a_line_of_moves_can_be_played_where_other_cards_are_legal_in_other_deals",
    ),
    "search/test_players.py": ("test_a_seed_decides_between_equals",),
    "search/test_portions.py": ("test_a_lane_plans_with_few_selections",),
    "search/test_principal_variation.py": ("test_it_ends_where_visits_are_few_or_shared",),
    "search/test_strategies.py": (
        "test_lanes_of_tree_hardly_ever_make_the_same_node",
        "test_a_full_memory_is_searched_on",
        "test_lanes_know_all_of_a_tree_that_a_snapshot_holds",
    ),
    "test_documents.py": ("test_python_that_is_printed_runs",),
}
"""Files below tests/, and their functions; none named: the whole file, which is not even imported."""


def ignores(path: Path) -> bool:
    """Whether a whole file is left out."""
    entry = LEFT_OUT.get(_name(path))
    return entry is not None and not entry


def select(items: Sequence[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests that `make test` runs, and those that it leaves out."""
    chosen: list[pytest.Item] = []
    others: list[pytest.Item] = []
    seen: set[tuple[Path, str]] = set()
    for item in items:
        function = getattr(item, "originalname", item.name)
        left_out = LEFT_OUT.get(_name(item.path))
        again = (item.path, function) in seen
        # A file that is named on the command line is collected all the same.
        out = left_out is not None and (not left_out or function in left_out)
        (others if again or out else chosen).append(item)
        seen.add((item.path, function))
    return chosen, others


def missing() -> list[str]:
    """What LEFT_OUT names and tests/ does not have."""
    found = []
    for name, functions in LEFT_OUT.items():
        file = TESTS / name
        nodes = ast.parse(file.read_text(encoding="utf-8")).body if file.exists() else []
        known = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
        found += [f"{name}::{each}" for each in functions if each not in known]
        found += [] if file.exists() else [name]
    return found


def _name(path: Path) -> str:
    return path.relative_to(TESTS).as_posix()
