package org.tetraphone.demo

import android.net.Uri
import org.json.JSONObject
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertTrue
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.annotation.Config
import org.tetraphone.PhonemeRecognizer
import org.tetraphone.PhonemeRecognizer.Phone
import java.io.File
import kotlin.concurrent.thread

/** What the engine is made of. */
@RunWith(Runner::class)
@Config(sdk = [35])
class PiecesTest {
    @Test
    fun aStallLosesNothingThatTheRingHolds() {
        val ring = Ring(16000)
        val stall = ShortArray(6400) { it.toShort() } // 400 ms at 16 kHz
        ring.put(stall, stall.size)
        val taken = ShortArray(8000)
        assertEquals(6400, ring.take(taken))
        assertEquals(stall.toList(), taken.take(6400))
        assertEquals(0L, ring.lost)
    }

    @Test
    fun aLongerStallIsCounted() {
        val ring = Ring(16000)
        repeat(5) { turn -> ring.put(ShortArray(5000) { turn.toShort() }, 5000) }
        assertEquals(9000L, ring.lost)
        assertEquals(16000L, ring.written)
        val taken = ShortArray(20000)
        assertEquals(16000, ring.take(taken))
        assertEquals(3.toShort(), taken[15999])
    }

    @Test
    fun theRingKeepsOrderBetweenThreadsAndEnds() {
        val ring = Ring(1000)
        val total = 100_000
        var seen = 0L
        val writer = thread {
            var next = 0
            while (next < total) {
                val count = minOf(1 + next % 97, total - next)
                while (ring.written - synchronized(ring) { seen } > 900) Thread.yield()
                ring.put(ShortArray(count) { (next + it).toShort() }, count)
                next += count
            }
            ring.close()
        }
        val taken = ShortArray(64)
        while (true) {
            val count = ring.take(taken)
            if (count == 0) break
            for (index in 0 until count) assertEquals((seen + index).toShort(), taken[index])
            synchronized(ring) { seen += count }
        }
        writer.join()
        assertEquals(total.toLong(), seen)
        assertEquals(0L, ring.lost)
    }

    @Test
    fun historyForgetsTheOldestOnly() {
        val history = BandHistory(2, 0.01, kept = 10)
        repeat(23) { history.append(floatArrayOf(it.toFloat(), -it.toFloat())) }
        val frame = FloatArray(2)
        assertEquals(23, history.frames)
        assertEquals(13, history.first)
        for (index in 13 until 23) {
            assertTrue(history.copy(index, frame))
            assertEquals(listOf(0f, -2f * index), frame.toList())
        }
        assertFalse(history.copy(12, frame))
        assertFalse(history.copy(23, frame))
    }

    /** Whichever frame is looked at first: what was scrolled by before does not matter. */
    @Test
    fun energiesAreRelativeToTheLoudestBefore() {
        val history = BandHistory(1, 0.01)
        for (energy in listOf(-9f, 4f, 0f, 1f)) history.append(floatArrayOf(energy))
        val frame = FloatArray(1)
        val levels = listOf(3, 1, 0, 2).map { index -> history.copy(index, frame).let { frame[0] } }
        for ((expected, level) in listOf(1 - 3.98f, 0f, -9 + 2f, 0 - 3.99f).zip(levels)) {
            assertEquals(expected, level, 1e-5f)
        }
    }

    @Test
    fun theWordsAreOfTheModelsPhones() {
        val models = File(System.getProperty("tetraphone.models")!!).listFiles()!!
        val phones = PhonemeRecognizer(models.first()).use { it.info.phones.toSet() }
        assertTrue(WORDS.size >= 40)
        assertEquals(WORDS.size, WORDS.map { it.text }.toSet().size)
        for (word in WORDS) {
            assertTrue("$word", phones.containsAll(word.phones))
            val other = WORDS.single { it.text == word.contrast }
            assertEquals("$word", 1, align(word.phones, other.phones).count { it.expected != it.heard })
        }
    }

    @Test
    fun alignmentNamesWhatWasMissedAddedAndDifferent() {
        assertEquals(
            listOf(Aligned("SH", "SH"), Aligned("IH", "IY"), Aligned("P", null)),
            align(listOf("SH", "IH", "P"), listOf("SH", "IY")),
        )
        assertEquals(listOf(Aligned(null, "AH"), Aligned("T", "T")), align(listOf("T"), listOf("AH", "T")))
        assertEquals(listOf(Aligned("T", null)), align(listOf("T"), emptyList()))
    }

    /** All of the command's, and its JSON as the command writes it. */
    @Test
    fun exportsAreThoseOfTheCommand() {
        val expected = File(System.getProperty("tetraphone.expected")!!)
        val json = JSONObject(File(expected, "measure.json").readText())
        val list = json.getJSONArray("phones")
        val phones = List(list.length()) { list.getJSONObject(it) }.map {
            Phone(it.getString("phone"), it.getDouble("start"), it.getDouble("end"), it.getDouble("confidence"))
        }
        val sound = Sound(phones = phones, finalPhones = phones.size, seconds = json.getDouble("duration"))
        val recording = RecordingState("a/\"b\".x.wav", Uri.EMPTY, 1f, sound)
        for (format in PhonemeRecognizer.formats) {
            val export = Export.of(recording, format, ipa = true)
            assertEquals("a_\"b\".x${format.suffix}", export.name)
            val text = export.content().replace("\\u0283", "ʃ") // as JSON may have it
            assertTrue(format.name, "ʃ" in text || phones.none { it.symbol == "SH" })
        }
        val format = PhonemeRecognizer.formats.single { it.name == "json" }
        val written = Export.of(recording, format, ipa = false).content()
        assertEquals(recording.name, JSONObject(written).getString("recording"))
        assertEquals(list.toString(), JSONObject(written).getJSONArray("phones").toString())
    }
}
