package org.tetraphone.demo.ui

/** Phones of the CMU dictionary in the International Phonetic Alphabet; others stay as they are. */
internal object Symbols {
    private const val TABLE = """
        AA ɑ, AE æ, AH ʌ, AO ɔ, AW aʊ, AX ə, AY aɪ, EH ɛ, ER ɝ, EY eɪ, IH ɪ, IX ɨ, IY i, OW oʊ, OY ɔɪ, UH ʊ, UW u,
        B b, CH tʃ, D d, DH ð, DX ɾ, F f, G ɡ, HH h, JH dʒ, K k, L l, M m, N n, NG ŋ, P p, R ɹ, S s, SH ʃ, T t, TH θ,
        V v, W w, Y j, Z z, ZH ʒ
    """

    private val ipa = TABLE.split(',').map { it.trim() }.associate { it.substringBefore(' ') to it.substringAfter(' ') }

    fun write(symbol: String, inIpa: Boolean): String = if (inIpa) ipa[symbol.uppercase()] ?: symbol else symbol

    fun write(symbols: List<String>, inIpa: Boolean): String = symbols.joinToString(" ") { write(it, inIpa) }
}
