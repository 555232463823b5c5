# The measurements behind the tables of assets/measured.md, in pieces of at most nine minutes: make build/measured/PIECE.jsonl
# measures one, `make measured` those that are not there. They want a machine that does nothing else (and one waits for the
# other, also with make -j).
#   measure.PIECE := what `tandem bench` is asked for
small := -m builtin
large := -m synthetic:0.8b:q8_0
types := $(large) -m synthetic:0.8b:bf16 -m synthetic:0.8b:q4_k -m synthetic:0.8b:q6_k
short := -p 74,128 -n 24 -t 1,2 --dispatch 32,128 --runs 9

measure.01-large-turns      := turns $(large) --rows 'pipelines tandem full' --rows 'pipelines single' --runs 15 --budget 9m
measure.02-large-ttft       := ttft $(large) --rows ' 16 ' --rows ' 133 ' --runs 5 --budget 9m
measure.03-large-ttft-410   := ttft $(large) --rows ' 410 ' --runs 5 --budget 8m
measure.04-large-short      := throughput dispatch handover crossover power $(large) --runs 5 --budget 5m
measure.05-large-pipelines  := turns $(large) --rows 'pipelines tandem history' --rows 'pipelines tandem draft' \
	--rows 'pipelines tandem off' --rows 'pipelines batch' --rows 'pipelines slots' --runs 3 --budget 7m
measure.06-large-sequential := turns $(large) --rows 'pipelines sequential' --runs 3 --budget 8m
measure.07-large-gaps       := turns $(large) --rows gaps --runs 8 --budget 6m
measure.08-large-both       := interference $(large) --runs 5 --budget 7m
measure.09-large-glyph      := glyph $(large) --runs 30 --budget 9m
measure.10-large-typed-100  := turns $(large) --rows 'typed 100 after the reply tandem full' \
	--rows 'typed 100 while it streams tandem full' --rows 'typed 100 after the reply single' \
	--rows 'typed 100 while it streams single' --runs 3 --budget 8m
measure.11-large-typed-40   := turns $(large) --rows 'typed 40 after the reply tandem full' \
	--rows 'typed 40 while it streams tandem full' --rows 'typed 40 after the reply single' \
	--rows 'typed 40 while it streams single' --runs 3 --budget 9m
measure.12-large-typed-more := turns $(large) --rows 'typed 100 after the reply tandem' --runs 3 --budget 8m
measure.13-2b               := throughput -m synthetic:2b:bf16 --runs 3 --budget 5m
measure.20-limits-q8_0      := model $(large) $(short) --budget 4m
measure.20-limits-bf16      := model -m synthetic:0.8b:bf16 $(short) --budget 4m
measure.20-limits-q4_k      := model -m synthetic:0.8b:q4_k $(short) --budget 4m
measure.20-limits-q6_k      := model -m synthetic:0.8b:q6_k $(short) --budget 4m
measure.21-limits-avx512    := model $(types) $(short) --kernels avx512 --budget 8m
measure.22-limits-small     := model $(small) -p 74,128,512 -n 24 -t 1,2 --dispatch 32,128 --runs 5 --budget 2m
measure.23-pass             := pass $(large) --runs 8 --budget 2m
measure.24-kernels          := kernels --budget 4m
measure.25-large-screen     := screen $(large) --runs 5 --budget 7m
measure.26-experts          := model -m synthetic:35b-a3b/8:q8_0 -m synthetic:35b-a3b/8:q4_k -p 512 -n 64 -t 2 --budget 5m
measure.27-experts-turns    := turns -m synthetic:35b-a3b/8:q4_k --rows 'pipelines tandem full' --rows 'pipelines single' \
	--runs 10 --budget 5m
measure.28-mtp              := mtp -m synthetic:4b:q4_k -m synthetic:9b:q4_k -m synthetic:9b/8:q8_0 -m synthetic:35b-a3b/8:q4_k \
	--mtp-accept 0.8 --runs 5 --budget 9m
measure.29-mtp-small        := mtp $(small) $(large) --mtp-accept 0.8 --runs 10 --budget 5m
measure.30-small            := throughput dispatch handover crossover power ttft interference screen pass $(small) --budget 8m
measure.31-small-turns      := turns $(small) --rows pipelines --rows gaps --runs 15 --budget 8m
measure.32-small-glyph      := glyph $(small) --runs 30 --budget 8m
measure.33-small-typed      := turns $(small) --rows 'typed 100' --runs 3 --budget 8m
measure.34-small-typed-40   := turns $(small) --rows 'typed 40 after the reply' --runs 3 --budget 9m

PIECES := $(sort $(patsubst measure.%,$(B)/measured/%.jsonl,$(filter measure.%,$(.VARIABLES))))

$(PIECES): $(B)/measured/%.jsonl: | $(B)/tandem $(BENCH)
	@mkdir -p $(@D)
	flock $(@D) $(B)/tandem bench $(measure.$*) --json $@.part --overwrite
	@mv $@.part $@

measured: $(PIECES) ## measure what assets/measured.md shows (up to three hours; build/measured keeps the pieces), then tables and figures
	@$(MAKE) --no-print-directory measured-join figures

# The pieces that are there, and of the old file the tables of which none of them measured a row. A table is known by its
# suite, part and model, what a suite ran on by suite and model. INTO: where another machine's are kept.
INTO := assets/measured.jsonl
measured-join: ## put build/measured/*.jsonl into assets/measured.jsonl (INTO=assets/measured-zen5.jsonl), then the tables
	touch $(INTO)
	awk -F'"' 'BEGIN { n = 0 } { key = $$4 FS ($$6 == "part" ? $$8 FS $$12 : $$8) } \
	    FILENAME != "$(INTO)" { if (/"measure":/ || $$6 != "part") again[key] = 1; \
	        keys[n] = key; lines[n++] = $$0; next } \
	    !(key in again) { print } END { for (i = 0; i < n; i++) if (keys[i] in again) print lines[i] }' \
	    $(wildcard $(B)/measured/*.jsonl) $(INTO) >$(B)/measured.jsonl
	mv $(B)/measured.jsonl $(INTO)
	@$(MAKE) --no-print-directory tables

MEASURED := python3 src/bench/measured.py
rows      = $(patsubst %,assets/%.jsonl,$(1))

tables: ## the tables of assets/measured*.md, from assets/*.jsonl
	$(MEASURED) tables assets/measured.md $(call rows,measured published goals)
	$(MEASURED) tables assets/measured-16-cores.md $(call rows,measured-16-cores published)
	$(MEASURED) tables assets/measured-zen5.md $(call rows,measured-zen5 published goals)
	$(MEASURED) tables assets/measured-zen4.md $(call rows,measured-zen4)
