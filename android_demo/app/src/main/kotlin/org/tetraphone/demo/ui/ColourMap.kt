package org.tetraphone.demo.ui

import android.graphics.Color

/** Viridis: equal steps of level look equal, in grey and to the colour-blind too. */
internal object ColourMap {
    private val knots = intArrayOf(
        0x440154, 0x472D7B, 0x3B528B, 0x2C728E, 0x21918C, 0x28AE80, 0x5EC962, 0xADDC30, 0xFDE725,
    )

    private val table = IntArray(256) { mix(it / 255f) }

    /** The colour of a level from 0 to 1. */
    fun colour(level: Float): Int = table[(level.coerceIn(0f, 1f) * 255).toInt()]

    private fun mix(level: Float): Int {
        val place = level * (knots.size - 1)
        val low = minOf(place.toInt(), knots.size - 2)
        return blend(knots[low], knots[low + 1], place - low)
    }
}

/** From [first] (share 0) to [second] (share 1), opaque. */
internal fun blend(first: Int, second: Int, share: Float): Int {
    fun part(of: (Int) -> Int) = (of(first) + (of(second) - of(first)) * share + 0.5f).toInt()
    return Color.rgb(part(Color::red), part(Color::green), part(Color::blue))
}
