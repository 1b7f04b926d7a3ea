package org.tetraphone.demo

import kotlin.math.max

/**
 * Log-mel energies by frame, written by one thread, read by others up to the frame count that they were told: the last
 * [kept] frames.
 */
class BandHistory(val bands: Int, val hop: Double, private val kept: Int = 15_000) {
    private val room = kept + 1 // the one that is being written is nobody's
    private val values = FloatArray(bands * room)
    private val peaks = FloatArray(room)
    private var peak = QUIET

    @Volatile
    var frames = 0
        private set

    /** Oldest frame that is still kept. */
    val first: Int get() = max(0, frames - kept)

    /** Appends [energies] (n · bands). */
    fun append(energies: FloatArray) {
        if (bands == 0) return
        for (frame in 0 until energies.size / bands) {
            val place = frames % room
            energies.copyInto(values, place * bands, frame * bands, (frame + 1) * bands)
            peak = max(QUIET, peak - FADE)
            for (band in 0 until bands) peak = max(peak, energies[frame * bands + band])
            peaks[place] = peak
            frames++
        }
    }

    /**
     * Copies frame [frame] into [into], each energy relative to the loudest of the seconds before, as an ear hears it:
     * 0 or less, in nepers of power. One before [first], or not yet there, gives false.
     */
    fun copy(frame: Int, into: FloatArray): Boolean {
        if (frame < first || frame >= frames) return false
        val place = frame % room
        values.copyInto(into, 0, place * bands, (place + 1) * bands)
        val peak = peaks[place]
        for (band in 0 until bands) into[band] -= peak
        return frame >= first // else it was overwritten meanwhile
    }

    private companion object {
        /** Of a frame. */
        const val FADE = 0.01f

        /** A room without a speaker stays dark. */
        const val QUIET = -2f
    }
}
