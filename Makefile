# Two commands do everything on a fresh machine with Python 3.11+, a C compiler and make:
#   make demo    the main job on real data        make test    the tests
# Each makes its own environment in .venv. `make help` lists the rest.

PYTHON ?= python3
# DELAYS=1 builds and uses another core, with random delays where threads can meet, in folders of its own.
SUFFIX := $(if $(filter 1,$(DELAYS)),-delays)
VENV := .venv$(SUFFIX)
DIST := dist$(SUFFIX)
BUILD := build$(SUFFIX)
ifneq ($(SUFFIX),)
export PHALANX_DELAYS := 1
endif
BIN := $(VENV)/bin
SOURCES := $(shell find core kernels_cpu kernels_cuda kernels_opencl device_plugins benchmarks conformance docs examples -type f \
	\( -name '*.py' -o -name '*.pyi' -o -name '*.pyx' -o -name '*.pxi' -o -name '*.c' -o -name '*.h' -o -name '*.json' -o -name '*.cl' -o -name '*.cuh' -o -name '*.j2' -o -name '*.ini' -o -name '*.md' \))
# Both OpenCL runtimes that the tests use, and caches that go with the environment.
RUNTIMES = $(BIN)/python tests/opencl/set_up_runtimes.py $(VENV)/opencl
RUN := XDG_CACHE_HOME=$(CURDIR)/$(VENV)/cache OCL_ICD_VENDORS=$(CURDIR)/$(VENV)/opencl
C_SOURCES := $(shell git ls-files '*.c' '*.h' '*.hpp' '*.cl' '*.cuh' 2>/dev/null)
TORCH ?= torch==2.13.0
JOBS ?= 2
# Of `make stress`, and of each program of `make sanitize`.
MINUTES ?= 2
# Of `make texts`: comparisons of bits with cpu:0, of every overload.
EMULATED ?= --group bitwise
SECONDS ?= 20
CASES ?= 100000

.PHONY: help accuracy edit demo test test-all texts compatibility gpu conformance certify try-device self-test scaffolds examples proof stress cover sanitize fuzz bench lint types wheel clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

$(BIN)/python:
	@echo "Making an environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip setuptools wheel 'cython>=3.1' 'cffi>=2.0'

# The wheel is built once for everything; setuptools builds again only what changed.
$(DIST)/.stamp: $(BIN)/python pyproject.toml setup.py $(SOURCES)
	@echo "Building Phalanx: the core, and kernels for three instruction sets (two to four minutes the first time) ..."
	@rm -rf $(DIST)/*.whl $(BUILD)/lib*/phalanx/*.py
	@$(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir $(DIST) .
	@touch $@

$(VENV)/.%: $(DIST)/.stamp
	@echo "Installing it with what \`$*\` needs ..."
	@$(BIN)/python -m pip install --quiet "$$(ls $(DIST)/phalanx-*.whl)[$*]"
	@$(BIN)/python -m pip install --quiet --force-reinstall --no-deps $(DIST)/phalanx-*.whl
	@touch $@

# Another environment, so that it never stands in the way of the wheel's.
edit: .venv-edit/bin/phalanx ## .venv-edit works on these files: Python counts at once, C and Cython after `make edit`
	.venv-edit/bin/python setup.py --quiet build_ext --inplace $(if $(FRONTS),--fronts)

.venv-edit/bin/phalanx:
	$(PYTHON) -m venv .venv-edit
	.venv-edit/bin/python -m pip install --quiet --upgrade pip setuptools wheel 'cython>=3.1' 'cffi>=2.0'
	.venv-edit/bin/python -m pip install --quiet --no-build-isolation --editable '.[test,opencl]'

demo: $(VENV)/.demo ## train a network on real digits, on every device
	$(RUNTIMES)
	$(RUN) $(BIN)/python examples/digits.py

test: $(VENV)/.test ## run the tests, but for what only `make test-all` takes
	$(RUNTIMES)
	$(RUN) $(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(ARGS)

conformance: certify self-test ## both of the following

certify: $(VENV)/.test ## certify all devices, or DEVICES=; quick
	$(RUNTIMES)
	$(RUN) $(BIN)/python tests/conformance/certify_all.py $(DEVICES)

try-device: $(VENV)/.test ## the part of the conformance suite on DEVICE= that ARGS= asks for; quick
	$(RUNTIMES)
	$(RUN) $(BIN)/phalanx conformance --quick --level bitwise --device $(DEVICE) $(ARGS)

self-test: $(VENV)/.test ## whether the conformance suite catches all faulty devices, or FAULTS=; quick
	$(RUN) $(BIN)/phalanx conformance --self-test --quick $(FAULTS:%=--fault %)

scaffolds: $(VENV)/.test ## make, install and certify each package of `phalanx new-plugin`, or FORMS=; ARGS=--help
	$(RUN) $(BIN)/python tests/scaffold/certify.py $(FORMS) $(ARGS)

examples: $(VENV)/.test ## install and certify the plugins of examples/plugins; ARGS=--help
	$(RUN) $(BIN)/python tests/scaffold/certify_example.py $(ARGS)

proof: $(VENV)/.test ## check functions of one operand on all inputs; resumes; ARGS=--help
	$(RUNTIMES)
	$(RUN) PYTHONPATH=tests $(BIN)/python -m proof $(ARGS)

accuracy: $(VENV)/.test ## errors of float32 functions beside NumPy's, PyTorch's and JAX's; writes docs/numerics.md
	$(BIN)/python -m pip install --quiet jax '$(TORCH)'
	PYTHONPATH=tests $(BIN)/python -m accuracy --plot docs/accuracy.svg --write docs/numerics.md $(ARGS)

stress: $(VENV)/.test ## random programs of many threads for MINUTES=2; also SEED=, DEVICE=, DELAYS=1
	$(RUNTIMES)
	$(RUN) PYTHONPATH=tests $(BIN)/python -m stress --minutes $(MINUTES) \
		$(if $(SEED),--seed $(SEED)) $(if $(DEVICE),--device $(DEVICE)) $(ARGS)

cover: edit ## coverage of core/ with the reference driver alone, at least 90 %
	PHALANX_TEST_DEVICES=fake .venv-edit/bin/python -m pytest --cov --cov-report=term --cov-fail-under=90

sanitize: ## streams and pool in C under the sanitizers; SECONDS=20 each
	$(PYTHON) tests/sanitize/build.py $(SECONDS)

fuzz: $(VENV)/.test ## a C plugin that lies, against the host under AddressSanitizer, CASES=100000
	$(BIN)/python tests/abi/fuzz/run.py $(CASES)

test-all: ## all tests, all devices, sanitizers, Oclgrind, the model, all texts in CUDA, an hour of stress
	$(MAKE) test ARGS='-m ""'
	$(MAKE) conformance
	$(MAKE) scaffolds FORMS='c python' ARGS='--level core'
	$(MAKE) examples ARGS=--full
	$(MAKE) sanitize SECONDS=60
	$(MAKE) fuzz
	cd tests && ../$(BIN)/python -m model --all 1 --some 40 --length 2
	cd tests && ../$(BIN)/python -m device_code.cuda
	cd tests && ../$(BIN)/python -m opencl.races
	cd tests && ../$(BIN)/python -m proof.pairs --jobs $(JOBS)
	cd tests && ../$(BIN)/python -m proof.pairs_of_two
	$(MAKE) stress MINUTES=60

texts: $(VENV)/.test ## every text of kernels for GPUs: by CUDA's compiler, and run on emulated work-items
	cd tests && $(RUN) ../$(BIN)/python -m device_code.cuda --quick
	$(RUN) $(BIN)/python tests/conformance/certify_all.py emulated:0 $(EMULATED)
	cd tests && $(RUN) ../$(BIN)/python -m emulated.forms --jobs $(JOBS)

compatibility: $(VENV)/.test ## others' libraries on top, and their tests, on cpu:0 and opencl:1; ARGS=--help; writes docs/compatibility.md
	$(PYTHON) -m venv $(VENV)-compatibility
	$(VENV)-compatibility/bin/python -m pip install --quiet "$$(ls $(DIST)/phalanx-*.whl)[opencl]"
	$(VENV)-compatibility/bin/python -m pip install --quiet --force-reinstall --no-deps $(DIST)/phalanx-*.whl
	$(VENV)-compatibility/bin/python tests/opencl/set_up_runtimes.py $(VENV)-compatibility/opencl
	XDG_CACHE_HOME=$(CURDIR)/$(VENV)-compatibility/cache OCL_ICD_VENDORS=$(CURDIR)/$(VENV)-compatibility/opencl \
		PYTHONPATH=tests $(VENV)-compatibility/bin/python -m compatibility --write docs/compatibility.md \
		$(ARGS) -- -n $(JOBS)

gpu: $(if $(GPU_PYTHON),,$(VENV)/.test) ## prove and measure a CUDA device; resumes; ARGS=--help; GPU_PYTHON= takes another environment
	PYTHONPATH=tests $(or $(GPU_PYTHON),$(BIN)/python) -m gpu $(ARGS)

bench: $(VENV)/.test ## ratios of speed against NumPy, PyTorch and pyopencl; ARGS=--programs, ARGS=--help
	$(BIN)/python -c 'import array_api_compat, mako, platformdirs, torch' 2>/dev/null || \
		$(BIN)/python -m pip install --quiet array-api-compat mako platformdirs '$(TORCH)'
	$(RUNTIMES)
	$(RUN) $(BIN)/phalanx bench --json out/bench.json --html out/bench.html $(ARGS)

lint: $(VENV)/.dev ## style of Python, Cython, C, OpenCL C and CUDA C
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(C_SOURCES)
	PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint --max-line-length 110 core/warm/*.pyx core/warm/*.pxi device_plugins/*/*.pyx

types: $(VENV)/.dev $(VENV)/.test ## types of the installed wheel
	$(BIN)/mypy -p phalanx
	$(BIN)/stubtest phalanx._warm phalanx.device_plugins.cuda._prepared phalanx.device_plugins.opencl._prepared --allowlist tests/stubtest.txt --ignore-missing-stub --ignore-disjoint-bases

wheel: $(DIST)/.stamp ## build the wheel into dist/
	@ls $(DIST)/*.whl

clean: ## remove what was built
	rm -rf build dist build-delays dist-delays out .venv .venv-delays .venv-edit *.egg-info .pytest_cache .mypy_cache .ruff_cache .coverage
