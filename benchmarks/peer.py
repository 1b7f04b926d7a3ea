"""What a user would have picked instead for phones: pocketsphinx, run by a Python of its own."""

DECODER = """
from pocketsphinx import Decoder, get_model_path
decoder = Decoder(hmm=get_model_path("en-us/en-us"), allphone=get_model_path("en-us/en-us-phone.lm.bin"),
                  lw=2.0, beam=1e-20, pbeam=1e-20, loglevel="FATAL")
"""
"""The start of a script for it: `decoder`, the phone loop with the beams of pocketsphinx's own documentation."""
