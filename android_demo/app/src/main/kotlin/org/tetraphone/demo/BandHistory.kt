package org.tetraphone.demo

/** Log-mel energies by frame, written by one thread, read by others up to the frame count that they were told. */
class BandHistory(val bands: Int, val hop: Double, private val capacity: Int = 30_000) {
    private val values = FloatArray(bands * capacity)

    @Volatile
    var frames = 0
        private set

    /** Oldest frame that is still kept: half of the room is never read, so nothing is overwritten under a reader. */
    val first: Int get() = maxOf(0, frames - capacity / 2)

    /** Appends [energies] (n · bands). */
    fun append(energies: FloatArray) {
        if (bands == 0) return
        for (frame in 0 until energies.size / bands) {
            energies.copyInto(values, frames % capacity * bands, frame * bands, (frame + 1) * bands)
            frames++
        }
    }

    /** Copies frame [frame] into [into]; one before [first], or not yet there, gives false. */
    fun copy(frame: Int, into: FloatArray): Boolean {
        if (frame < first || frame >= frames) return false
        val start = frame % capacity * bands
        values.copyInto(into, 0, start, start + bands)
        return true
    }
}
