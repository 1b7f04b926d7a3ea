package org.tetraphone.demo

/** Samples on their way from the thread that records to the one that recognises; what finds no room is counted. */
internal class Ring(private val capacity: Int) {
    private val samples = ShortArray(capacity)
    private var taken = 0L
    private var closed = false

    /** Samples put in since the start, in all. */
    @get:Synchronized
    var written = 0L
        private set

    /** Samples that found no room. */
    @get:Synchronized
    var lost = 0L
        private set

    private val lock get() = this as Object

    /** Never waits. */
    @Synchronized
    fun put(from: ShortArray, count: Int) {
        val fits = minOf(count.toLong(), capacity - (written - taken)).toInt()
        for (index in 0 until fits) samples[((written + index) % capacity).toInt()] = from[index]
        written += fits
        lost += count - fits
        lock.notifyAll()
    }

    /** Waits for samples; how many were copied into [into], or 0 once closed and empty. */
    @Synchronized
    fun take(into: ShortArray): Int {
        while (written == taken && !closed) lock.wait()
        val count = minOf(into.size.toLong(), written - taken).toInt()
        for (index in 0 until count) into[index] = samples[((taken + index) % capacity).toInt()]
        taken += count
        return count
    }

    /** Nothing follows. */
    @Synchronized
    fun close() {
        closed = true
        lock.notifyAll()
    }
}
