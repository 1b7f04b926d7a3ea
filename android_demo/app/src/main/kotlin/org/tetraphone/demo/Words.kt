package org.tetraphone.demo

/** Words to practise, in pairs that differ in one phone, as the CMU dictionary pronounces them. */
internal val WORDS: List<Word> = """
    ship SH IH P, sheep SH IY P
    bit B IH T, beat B IY T
    full F UH L, fool F UW L
    bed B EH D, bad B AE D
    cup K AH P, cap K AE P
    cut K AH T, cot K AA T
    walk W AO K, work W ER K
    pen P EH N, pain P EY N
    boat B OW T, bought B AO T
    thin TH IH N, tin T IH N
    think TH IH NG K, sink S IH NG K
    three TH R IY, free F R IY
    they DH EY, day D EY
    vest V EH S T, west W EH S T
    light L AY T, right R AY T
    glass G L AE S, grass G R AE S
    pig P IH G, big B IH G
    cold K OW L D, gold G OW L D
    rice R AY S, rise R AY Z
    ice AY S, eyes AY Z
    sing S IH NG, sin S IH N
    chair CH EH R, share SH EH R
    jet JH EH T, yet Y EH T
    hat HH AE T, at AE T
""".trim().lines().flatMap { line ->
    val (one, other) = line.trim().split(", ").map { it.split(' ') }
    listOf(Word(one[0], one.drop(1), other[0]), Word(other[0], other.drop(1), one[0]))
}

/** The likeliest way in which [heard] came of [expected]: the fewest edits. */
internal fun align(expected: List<String>, heard: List<String>): List<Aligned> {
    val cost = Array(expected.size + 1) { IntArray(heard.size + 1) }
    for (i in expected.size downTo 0) {
        for (j in heard.size downTo 0) {
            cost[i][j] = when {
                i == expected.size -> heard.size - j
                j == heard.size -> expected.size - i
                expected[i] == heard[j] -> cost[i + 1][j + 1]
                else -> 1 + minOf(cost[i + 1][j + 1], cost[i + 1][j], cost[i][j + 1])
            }
        }
    }
    val aligned = mutableListOf<Aligned>()
    var i = 0
    var j = 0
    while (i < expected.size || j < heard.size) {
        val both = i < expected.size && j < heard.size
        val same = both && expected[i] == heard[j]
        aligned += when {
            both && cost[i][j] == cost[i + 1][j + 1] + (if (same) 0 else 1) -> Aligned(expected[i++], heard[j++])
            i < expected.size && cost[i][j] == cost[i + 1][j] + 1 -> Aligned(expected[i++], null)
            else -> Aligned(null, heard[j++])
        }
    }
    return aligned
}
