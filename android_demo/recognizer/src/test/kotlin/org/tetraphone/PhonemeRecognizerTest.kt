package org.tetraphone

import org.json.JSONObject
import org.junit.Assert.assertArrayEquals
import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Assume.assumeTrue
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.annotation.Config
import org.tetraphone.PhonemeRecognizer.Options
import org.tetraphone.PhonemeRecognizer.Phone
import org.tetraphone.PhonemeRecognizer.RecognizerException
import org.tetraphone.demo.Runner
import java.io.File
import java.lang.reflect.InvocationTargetException
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.concurrent.CyclicBarrier
import java.util.concurrent.atomic.AtomicReference
import kotlin.concurrent.thread
import kotlin.random.Random

/** The class over the real C++ recogniser, built for the host. */
@RunWith(Runner::class)
@Config(sdk = [35])
class PhonemeRecognizerTest {
    private val models = files("tetraphone.models", "pte")

    /** The model of the expected phones. */
    private val int8 = models.first { "int8" in it.name && "tiny" !in it.name }

    private val expected = File(System.getProperty("tetraphone.expected")!!)

    private val sound = read(File(expected, "measure.wav"))

    private fun files(folder: String, extension: String) =
        File(System.getProperty(folder)!!).listFiles()!!.filter { it.extension == extension }.sorted()

    /** 16 kHz, mono, 16 bits, behind a header of 44 bytes: prepare.py's. */
    private fun read(wav: File): ShortArray {
        val bytes = ByteBuffer.wrap(wav.readBytes()).order(ByteOrder.LITTLE_ENDIAN)
        assertEquals(16000, bytes.getInt(24))
        bytes.position(44)
        return ShortArray(bytes.remaining() / 2) { bytes.getShort() }
    }

    private fun heard(recognizer: PhonemeRecognizer, samples: ShortArray, piece: () -> Int = { 1600 }): List<Phone> {
        val phones = mutableListOf<Phone>()
        var first = 0
        while (first < samples.size) {
            val count = minOf(piece(), samples.size - first)
            recognizer.accept(samples.copyOfRange(first, first + count), count, 16000)
            phones += recognizer.poll()
            first += count
        }
        recognizer.finish()
        return phones + recognizer.poll()
    }

    private fun alone(model: File = int8, options: Options = Options()) =
        PhonemeRecognizer(model, options).use { heard(it, sound) }

    /** Of the app's own recording always, of real ones where a corpus is there. */
    @Test
    fun phonesAreThoseOfTheCommand() {
        val recordings = files("tetraphone.expected", "json")
        for (json in recordings) {
            val list = JSONObject(json.readText()).getJSONArray("phones")
            assertTrue("${json.name} has no phones", list.length() > 0)
            val wav = File(expected, "${json.nameWithoutExtension}.wav")
            val phones = PhonemeRecognizer(int8).use { heard(it, read(wav)) }
            assertEquals(
                json.name,
                List(list.length()) { list.getJSONObject(it).getString("phone") },
                phones.map { it.symbol },
            )
            phones.forEachIndexed { i, phone ->
                val wanted = list.getJSONObject(i)
                assertEquals(wanted.getDouble("start"), phone.start, 0.501e-6)
                assertEquals(wanted.getDouble("end"), phone.end, 0.501e-6)
                assertEquals(wanted.getDouble("confidence"), phone.confidence, 0.501e-4)
            }
        }
        val real = recordings.any { it.name != "measure.json" }
        if (!real) {
            println(
                "skipped: phones of a real recording, since ${System.getProperty("tetraphone.corpora")} has none",
            )
        }
        assumeTrue(real)
    }

    @Test
    fun chunksChangeNothing() {
        val random = Random(1)
        val whole = PhonemeRecognizer(int8).use { heard(it, sound) { sound.size } }
        repeat(10) { PhonemeRecognizer(int8).use { assertEquals(whole, heard(it, sound) { random.nextInt(0, 5000) }) } }
        assertEquals(whole.map { "${it.start} ${it.end} ${it.symbol}" }, phonesOf(int8, sound, 16000)) // docs/embed.md
    }

    @Test
    fun floatsAndChannelsGiveTheSamePhones() {
        val whole = alone()
        PhonemeRecognizer(int8).use {
            it.accept(FloatArray(sound.size) { i -> sound[i] / 32768f }, sound.size, 16000)
            it.finish()
            assertEquals(whole, it.poll())
        }
        // Three equal channels, whose pieces of 4096 samples end within no frame.
        PhonemeRecognizer(int8).use {
            it.accept(ShortArray(3 * sound.size) { i -> sound[i / 3] }, sound.size, 16000, 3)
            it.finish()
            assertEquals(whole, it.poll())
        }
    }

    @Test
    fun oneChannelIsHeard() {
        val whole = alone()
        for (channel in 0..1) {
            val stereo = ShortArray(2 * sound.size) { i -> if (i % 2 == channel) sound[i / 2] else (7 * i).toShort() }
            PhonemeRecognizer(int8, Options(channel = channel)).use {
                it.accept(stereo, sound.size, 16000, 2)
                it.finish()
                assertEquals(whole, it.poll())
            }
        }
        PhonemeRecognizer(int8, Options(channel = 2)).use {
            val missing = assertThrows(RecognizerException::class.java) { it.accept(sound, 1, 16000, 2) }
            assertEquals("the sound has no channel 2; it has channels 0 to 1", missing.message)
        }
    }

    @Test
    fun provisionalPhonesFollowFinalOnes() = PhonemeRecognizer(int8).use {
        var end = 0.0 // of the last final phone
        var seen = 0
        for (first in 0..sound.size - 480 step 480) {
            it.accept(sound.copyOfRange(first, first + 480), 480, 16000)
            end = it.poll().lastOrNull()?.end ?: end
            val provisional = it.provisional()
            assertTrue("$end $provisional", provisional.all { phone -> phone.start >= end })
            assertEquals(provisional, it.provisional())
            assertEquals(emptyList<Phone>(), it.poll())
            assertEquals((first + 480) / 16000.0, it.seconds, 1e-9)
            seen += provisional.size
        }
        assertTrue("none", seen > 0)
    }

    @Test
    fun bandsAreKeptWhenAsked() {
        PhonemeRecognizer(int8, Options(keepBands = true)).use {
            it.accept(sound, sound.size, 16000)
            val bands = it.bands()
            assertEquals(0, bands.size % it.info.bands)
            assertEquals(it.seconds / it.info.hop, bands.size / it.info.bands.toDouble(), 4.0)
            assertTrue(bands.all { energy -> energy.isFinite() } && bands.toSet().size > 1000)
            assertEquals(0, it.bands().size)
        }
        PhonemeRecognizer(int8).use {
            it.accept(sound, sound.size, 16000)
            assertEquals(0, it.bands().size)
        }
    }

    @Test
    fun silenceIsAPause() = PhonemeRecognizer(int8, Options(pause = 0.0)).use {
        assertEquals(false, it.paused) // nothing was said yet
        it.accept(sound, sound.size, 16000)
        assertEquals(true, it.paused) // of no seconds
    }

    @Test
    fun infoIsTheFiles() {
        for (model in models) {
            PhonemeRecognizer(model).use {
                assertEquals(model.length(), it.info.fileBytes)
                assertEquals(16000, it.info.sampleRate)
                assertTrue(
                    it.info.toString(),
                    it.info.bands > 1 && it.info.hop > 0 && it.info.frameShift >= it.info.hop,
                )
                assertTrue(it.info.delay > it.info.frameShift && it.info.phones.size == it.info.phones.toSet().size)
            }
        }
    }

    @Test
    fun resetIsAsNew() = PhonemeRecognizer(int8, Options(beam = 4)).use {
        val first = heard(it, sound)
        assertTrue(first.isNotEmpty())
        it.reset()
        assertEquals(0.0, it.seconds, 0.0)
        it.accept(sound.copyOf(9000), 9000, 44100) // of another rate, and cut short
        it.reset()
        assertEquals(first, heard(it, sound))
        assertEquals(first, alone(options = Options(beam = 4)))
    }

    @Test
    fun everyInstructionSetGivesTheSamePhones() {
        val sets = PhonemeRecognizer.instructionSets
        assertEquals("scalar", sets.first())
        val before = PhonemeRecognizer.instructionSet
        try {
            for (model in models) {
                val phones = sets.map {
                    PhonemeRecognizer.instructionSet = it
                    assertEquals(it, PhonemeRecognizer.instructionSet)
                    alone(model)
                }
                assertEquals(1, phones.toSet().size)
            }
            val refusal =
                assertThrows(IllegalArgumentException::class.java) { PhonemeRecognizer.instructionSet = "sse9" }
            assertTrue(refusal.message, "sse9" in refusal.message!! && sets.last() in refusal.message!!)
            assertEquals(sets.last(), PhonemeRecognizer.instructionSet)
        } finally {
            PhonemeRecognizer.instructionSet = before
        }
    }

    @Test
    fun bytesAreAModelToo() = PhonemeRecognizer(int8.readBytes(), "picked.pte").use {
        assertEquals(alone(), heard(it, sound))
    }

    @Test
    fun damagedFilesAreRefusedWithTheirName() {
        val bytes = int8.readBytes()
        val damaged = mapOf(
            "empty" to ByteArray(0),
            "truncated" to bytes.copyOf(bytes.size / 2),
            "text" to "not a model at all, but long enough for a trailer".toByteArray(),
            "flipped" to bytes.copyOf().also { it[it.size / 3] = (it[it.size / 3] + 1).toByte() },
        )
        for ((name, content) in damaged) {
            val file = File.createTempFile("modèle-$name", ".pte").apply { writeBytes(content) }
            val fromFile = assertThrows(RecognizerException::class.java) { PhonemeRecognizer(file) }
            assertTrue(fromFile.message, name in fromFile.message!!)
            val fromBytes =
                assertThrows(RecognizerException::class.java) { PhonemeRecognizer(content, "モ \uD83C\uDF99.pte") }
            assertTrue(fromBytes.message, "モ \uD83C\uDF99.pte" in fromBytes.message!!)
            file.delete()
        }
        val missing = assertThrows(RecognizerException::class.java) { PhonemeRecognizer(File("no/such.pte")) }
        assertTrue(missing.message, "no/such.pte" in missing.message!!)
        assertThrows(RecognizerException::class.java) { PhonemeRecognizer(File("zero\u0000.pte")) }
        assertThrows(RecognizerException::class.java) { PhonemeRecognizer(expected) } // a folder
    }

    @Test
    fun optionsReachTheDecoder() {
        assertEquals(emptyList<Phone>(), alone(options = Options(blankShift = 1000.0)))
        assertTrue(alone(options = Options(blankShift = -1000.0)).size > alone().size)
        val only = PhonemeRecognizer(int8).use { it.info.phones[3] }
        val grammar = File.createTempFile("grammar ü", ".fst").apply { writeText("0 0 $only 0\n0 0\n") }
        val allowed = Options(beam = 4, phoneBonus = 3.0, grammar = grammar)
        assertEquals(setOf(only), alone(options = allowed).map { it.symbol }.toSet())
        grammar.delete()
        val (few, many) = listOf(-5.0, 5.0).map { alone(int8, Options(beam = 4, phoneBonus = it, context = 1)).size }
        assertTrue("$few $many", few < many)
        for ((options, says) in listOf(
            Options(beam = 4, grammar = File("none.fst")) to "none.fst",
            Options(beam = 4, grammar = File("zero\u0000.fst")) to "zero byte",
            Options(context = 5) to "a context of 5",
            Options(grammarScale = -1.0) to "a grammar scale of -1",
            Options(phoneBonus = 1.0) to "without a beam",
        )) {
            val told = assertThrows(RecognizerException::class.java) { PhonemeRecognizer(int8, options) }.message!!
            assertTrue(told, says in told)
        }
    }

    @Test
    fun optionsOutOfRangeAreRefused() {
        val bytes = PhonemeRecognizer.nativeBytes
        for (options in listOf(
            Options(beam = -1),
            Options(beam = 100000),
            Options(pause = -1.0),
            Options(pause = Double.NaN),
            Options(channel = -2),
        )) {
            assertThrows(RecognizerException::class.java) { PhonemeRecognizer(int8, options) }
        }
        assertEquals("what was loaded before the refusal is kept", bytes, PhonemeRecognizer.nativeBytes)
    }

    /** What the class checks before: only a caller beside it, or a class of another version, comes that far. */
    @Test
    fun nativeCodeReadsNoMoreThanTheArrayHas() = PhonemeRecognizer(int8).use { recognizer ->
        val stream = PhonemeRecognizer::class.java.getDeclaredField("stream").apply { isAccessible = true }
        val natives = Class.forName("org.tetraphone.PhonemeRecognizer\$Native")
        val instance = natives.getDeclaredField("INSTANCE").apply { isAccessible = true }.get(null)
        val int = Int::class.java
        for (array in listOf(ShortArray(5), FloatArray(5))) {
            val accept = natives.getDeclaredMethod("accept", Long::class.java, array.javaClass, int, int, int)
            for ((count, channels) in listOf(6 to 1, 3 to 2, -1 to 1, Int.MAX_VALUE to 1024)) {
                val thrown = assertThrows(InvocationTargetException::class.java) {
                    accept.invoke(instance, stream.get(recognizer), array, count, 16000, channels)
                }
                assertEquals(
                    "$count samples of each of $channels channels, but the array has 5; give a count that fits",
                    (thrown.cause as RecognizerException).message,
                )
            }
        }
        assertEquals(0.0, recognizer.seconds, 0.0)
    }

    @Test
    fun impossibleSoundIsRefusedAndNothingTaken() = PhonemeRecognizer(int8).use {
        for ((count, channels) in listOf(
            -1 to 1,
            sound.size + 1 to 1,
            sound.size to 2,
            Int.MAX_VALUE to Int.MAX_VALUE,
        )) {
            assertThrows(IllegalArgumentException::class.java) { it.accept(sound, count, 16000, channels) }
            assertThrows(IllegalArgumentException::class.java) {
                it.accept(FloatArray(10), maxOf(count, 11), 16000, channels)
            }
        }
        for (channels in listOf(0, -1, Int.MIN_VALUE, 1025)) {
            assertThrows(RecognizerException::class.java) { it.accept(sound, 1, 16000, channels) }
        }
        for (channels in listOf(0, -1)) { // a count beyond the array, which is not read
            for (call in listOf<() -> Unit>(
                { it.accept(ShortArray(5), 4096, 16000, channels) },
                { it.accept(FloatArray(5), 4096, 16000, channels) },
            )) {
                val refusal = assertThrows(RecognizerException::class.java) { call() }
                assertEquals("$channels channels; give 1 to 1024", refusal.message)
            }
        }
        assertThrows(RecognizerException::class.java) { it.accept(ShortArray(5000), 1, 16000, 5000) }
        assertThrows(RecognizerException::class.java) { it.accept(sound, 1, 7) }
        assertThrows(RecognizerException::class.java) { it.accept(floatArrayOf(0f, Float.NaN), 2, 16000) }
        assertEquals(0.0, it.seconds, 0.0)
        it.accept(sound, 1600, 16000)
        val changed = assertThrows(RecognizerException::class.java) { it.accept(sound, 1600, 48000) }
        assertTrue(changed.message, "48000" in changed.message!!)
        it.finish()
        assertThrows(RecognizerException::class.java) { it.accept(sound, 1600, 16000) }
        assertEquals(0.1, it.seconds, 1e-9)
    }

    @Test
    fun everyCallAfterCloseIsRefused() {
        val recognizer = PhonemeRecognizer(int8)
        recognizer.close()
        recognizer.close()
        val calls = listOf<(PhonemeRecognizer) -> Unit>(
            { it.info },
            { it.accept(sound, 1, 16000) },
            { it.accept(FloatArray(1), 1, 16000) },
            { it.finish() },
            { it.reset() },
            { it.poll() },
            { it.provisional() },
            { it.bands() },
            { it.paused },
            { it.seconds },
        )
        for (call in calls) assertThrows(IllegalStateException::class.java) { call(recognizer) }
    }

    @Test
    fun closedWhileAnotherThreadIsInAccept() {
        val bytes = int8.readBytes()
        val before = PhonemeRecognizer.nativeBytes
        val samples = sound.copyOf(4800)
        repeat(1000) { round ->
            val recognizer = if (round % 2 == 0) PhonemeRecognizer(int8) else PhonemeRecognizer(bytes, "bytes")
            val ready = CyclicBarrier(2)
            val end = AtomicReference<Throwable>()
            val worker = thread {
                ready.await()
                try {
                    while (true) recognizer.accept(samples, samples.size, 16000)
                } catch (expected: Throwable) {
                    end.set(expected)
                }
            }
            ready.await()
            if (round % 4 > 1) Thread.sleep(0, 200_000)
            recognizer.close()
            worker.join()
            assertTrue("${end.get()}", end.get() is IllegalStateException)
        }
        assertEquals(before, PhonemeRecognizer.nativeBytes)
    }

    @Test
    fun nativeBytesAreThoseOfTheOpenOnes() {
        val before = PhonemeRecognizer.nativeBytes
        val mapped = PhonemeRecognizer(int8)
        mapped.accept(sound, sound.size, 16000)
        val one = PhonemeRecognizer.nativeBytes - before
        assertTrue("$one", one in 50_000..2_000_000)
        repeat(20) { mapped.accept(sound, sound.size, 16000).also { mapped.poll() } }
        assertTrue("grows", PhonemeRecognizer.nativeBytes - before <= one + 4096) // what a longer list of phones needs
        val copied = PhonemeRecognizer(int8.readBytes(), "copy")
        assertTrue(PhonemeRecognizer.nativeBytes - before > one + int8.length())
        mapped.close()
        copied.close()
        assertEquals(before, PhonemeRecognizer.nativeBytes)
    }

    @Test
    fun arraysComeBackUnchanged() = PhonemeRecognizer(int8).use {
        val copy = sound.copyOf()
        it.accept(copy, copy.size, 16000)
        assertArrayEquals(sound, copy)
    }
}
