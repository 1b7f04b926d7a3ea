package org.tetraphone.demo.ui

import org.tetraphone.PhonemeRecognizer

/** Phones in the International Phonetic Alphabet, by the recogniser's own table; others stay as they are. */
internal object Symbols {
    private val ipa by lazy { PhonemeRecognizer.ipa }

    fun write(symbol: String, inIpa: Boolean): String = if (inIpa) ipa[symbol] ?: symbol else symbol

    fun write(symbols: List<String>, inIpa: Boolean): String = symbols.joinToString(" ") { write(it, inIpa) }
}
