# The environment is made once, in .venv; make clean removes it.
#   make demo       install, and search a position of gomoku for five seconds
#   make test       what to run before a commit: most test functions once, in five minutes
#   make test-all   every test, and those of games and search once more as plain Python
#   make test-lowest   make test with the lowest version of each dependency that pyproject.toml accepts
#   make check      formatting, lint, types
#   make benchmark  one core against OpenSpiel
#   make strength   what parallel lanes are worth in playing strength (about two hours on two cores)
#   make pictures   those of the page, of Prometheus and of the record of 16 cores in cluster/plots (four minutes)
#   make measured-pictures   those in cluster/plots that show what this machine measures, which must be idle
#   make load       a service under load for five minutes, and once more while things are killed
#   make test-hosts   searches across three hosts on this machine, whose links are cut (as root)
#   make links        rates and bytes of searches across hosts whose links are limited (as root)
#   make test-autoscaler   a search for which Ray's autoscaler brings machines
#   make soak         200 searches while their workers are killed and stopped at random
#   make test-resume  searches killed a hundred times for each strategy, which go on from their checkpoints

SHELL := /bin/bash
PYTHONS := python3.11 python3.12 python3.13 python3.14
PYTHON ?= $(firstword $(foreach name,$(PYTHONS),$(shell $(name) -c 'print("$(name)")' 2>/dev/null)))
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
PINS := --constraint constraints.txt
PROJECT := pyproject.toml constraints.txt

.PHONY: pictures measured-pictures demo test test-all test-lowest test-resume test-hosts links test-autoscaler soak load check benchmark perft strength clean

demo: $(VENV)/installed
	$(BIN)/banyan search gomoku --moves "f6 g7 f7" --seconds 5

test: $(VENV)/installed-test
	$(BIN)/python -m tests.everything --quick

test-all: $(VENV)/installed-test-all $(VENV)/installed-openspiel
	$(BIN)/python -m tests.everything

test-lowest: $(VENV)/bin/python
	$(PIP) install uv
	$(MAKE) VENV=build/lowest PIP="$(BIN)/uv pip" PINS="--python build/lowest --resolution lowest-direct" test

test-resume: $(VENV)/installed-test-all
	$(BIN)/python -m tests.faults.kill_and_resume --times 100 --ray 5

load: $(VENV)/installed-test-all
	$(BIN)/python -m tests.faults.service_load --minutes 5 --clients 50 --searches 500 --workers 2 --scale 2.5
	$(BIN)/python -m tests.faults.service_load --minutes 5 --clients 50 --searches 500 --workers 2 --scale 2.5 --kill worker,server,ray

pictures: $(VENV)/installed-test-all
	$(BIN)/python -m cluster.lab.throughput.speedup_report cluster/lab/records/sixteen_cores.json cluster/plots/speedup.png
	$(BIN)/python -m tests.cluster.service.pictures

measured-pictures: $(VENV)/installed
	$(BIN)/banyan predict gomoku --strategies root,tree --workers 1,16,64,256,1024 --lanes 1024 --simulations 15000000000 --cores 16 --out build/pictures
	$(BIN)/banyan tune gomoku --out build/pictures
	cp build/pictures/predict.png cluster/plots/predict_gomoku.png
	cp build/pictures/tune.png cluster/plots/

test-hosts: $(VENV)/installed-test-all
	$(BIN)/python -m tests.faults.hosts

links: $(VENV)/installed-test-all
	$(BIN)/python -m tests.faults.links

test-autoscaler: $(VENV)/installed-test-all
	$(BIN)/python -m tests.faults.autoscaler

soak: $(VENV)/installed-test-all
	$(BIN)/python -m tests.faults.soak

check: $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

benchmark: $(VENV)/installed-openspiel
	$(BIN)/banyan benchmark --against openspiel

perft: $(VENV)/installed
	$(BIN)/banyan perft tictactoe 9
	$(BIN)/banyan perft gomoku 4
	$(BIN)/banyan perft morris 6
	$(BIN)/banyan perft thud 3
	$(BIN)/banyan perft thud:ruleset=seed 3
	$(BIN)/banyan solve morris:variant=five --max-positions 100000000
	$(BIN)/banyan solve morris:variant=six --max-positions 100000000
	$(BIN)/banyan solve morris:variant=six,fly=yes --max-positions 100000000

# Broken off and started again, it goes on where it was. The last one shows what rounds of tree are worth.
strength: $(VENV)/installed
	$(BIN)/banyan strength gomoku:size=9 --lanes 16,64 --simulations 1000 --pairs 100 --out build/strength/gomoku
	$(BIN)/banyan strength morris --lanes 16,64 --simulations 200 --pairs 50 --out build/strength/morris
	$(BIN)/banyan strength gomoku:size=9 --lanes 16 --total 6400 --scores-only --pairs 100 --strategies $(TREES),root --out build/strength/trees

TREES := tree,tree:rounds=8,tree:rounds=128

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Banyan needs Python 3.11 to 3.14: none of $(PYTHONS) runs here" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Each stamp is renewed when what is to be installed changes. The link: beside a folder that is called banyan,
# such as a clone, Python would take that folder for the package, before it asks an editable installation.
INSTALLED := $(addprefix $(VENV)/installed,-test -test-all -dev -openspiel) $(VENV)/installed
$(VENV)/installed-test: EXTRAS := [test]
$(VENV)/installed-test-all: EXTRAS := [test-all]
$(VENV)/installed-dev: EXTRAS := [test-all,dev]
$(VENV)/installed-openspiel: EXTRAS := [openspiel]
$(INSTALLED): $(PROJECT) | $(VENV)/bin/python
	@echo "installing Banyan into $(VENV) (one or two minutes the first time)"
	$(PIP) install $(PINS) --editable '.$(EXTRAS)'
	@ln -sfn "$(CURDIR)/cluster/banyan" "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/banyan"
	@touch $@

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}/banyan/games"
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
