"""Corpora: manifests, transcripts, utterances."""
