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
        val history = BandHistory(2, 0.01, capacity = 10)
        repeat(23) { history.append(floatArrayOf(it.toFloat(), -it.toFloat())) }
        val frame = FloatArray(2)
        assertEquals(23, history.frames)
        assertEquals(18, history.first)
        for (index in 18 until 23) {
            assertTrue(history.copy(index, frame))
            assertEquals(listOf(index.toFloat(), -index.toFloat()), frame.toList())
        }
        assertFalse(history.copy(17, frame))
        assertFalse(history.copy(23, frame))
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

    @Test
    fun exportsAreWhatOtherProgramsRead() {
        val phones = listOf(Phone("SH", 0.1, 0.2, 0.91), Phone("IY", 0.2, 0.35, 0.5))
        val recording =
            RecordingState("a \"b\".wav", Uri.EMPTY, 1f, Sound(phones = phones, finalPhones = 2, seconds = 0.5))
        val json = JSONObject(Export.json(recording))
        assertEquals("a \"b\".wav", json.getString("recording"))
        assertEquals(0.35, json.getJSONArray("phones").getJSONObject(1).getDouble("end"), 0.0)
        assertEquals("    0.10     0.20  SH  0.91\n    0.20     0.35  IY  0.50\n", Export.text(recording))
        assertEquals(
            "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\n0\n0.5\n<exists>\n1\n" +
                "\"IntervalTier\"\n\"phones\"\n0\n0.5\n4\n" +
                "0.0\n0.1\n\"\"\n0.1\n0.2\n\"SH\"\n0.2\n0.35\n\"IY\"\n0.35\n0.5\n\"\"\n",
            Export.textGrid(recording),
        )
    }
}
