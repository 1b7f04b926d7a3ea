#!/usr/bin/env bash
# Trains a QLSTM on real speech, quantises and exports it, and scores the float32 and int8 files on two test sets.
# Usage: TETRAPHONE=.venv/bin/tetraphone CORPORA=folder bash benchmarks/real_speech.sh
set -euo pipefail
run=build/real-speech
results=benchmarks/results/real_speech.jsonl

if [[ ! -e $run/curves.png ]]; then
  "$TETRAPHONE" train "$CORPORA/speechocean762/train.jsonl" "$CORPORA/librispeech/train_clean_5.jsonl" \
    --output "$run" $([[ -e $run ]] && echo --resume) --hidden 320 --layers 3 --epochs 16 --learning-rate 8e-3 \
    --spec-augment --bfloat16
fi
"$TETRAPHONE" export "$run/model.pt" "$run/qlstm-float32.pte"
"$TETRAPHONE" quantize "$run/model.pt" "$run/qlstm-int8.pt"
"$TETRAPHONE" export "$run/qlstm-int8.pt" "$run/qlstm-int8.pte"
{
  "$TETRAPHONE" info --json
  for model in float32 int8; do
    for corpus in speechocean762/test librispeech/test_clean_a; do
      "$TETRAPHONE" evaluate "$run/qlstm-$model.pte" "$CORPORA/$corpus.jsonl" --json
    done
  done
} > "$results.part"
mv "$results.part" "$results"
cat "$results"
