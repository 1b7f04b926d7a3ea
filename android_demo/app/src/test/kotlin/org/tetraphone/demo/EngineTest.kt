package org.tetraphone.demo

import android.Manifest
import android.media.AudioManager
import android.media.MediaRecorder
import android.net.Uri
import android.os.Looper
import org.json.JSONObject
import org.junit.After
import org.junit.Assert.assertEquals
import org.junit.Assert.assertNull
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Before
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.RuntimeEnvironment
import org.robolectric.Shadows.shadowOf
import org.robolectric.annotation.Config
import org.robolectric.shadows.ShadowAudioRecord
import org.robolectric.util.ReflectionHelpers
import org.tetraphone.PhonemeRecognizer
import java.io.ByteArrayInputStream
import java.io.File
import java.io.IOException
import java.io.InputStream
import kotlin.random.Random

/** The engine with the real recogniser; the microphone plays recordings. */
@RunWith(Runner::class)
@Config(sdk = [34, 35])
class EngineTest {
    private val app = RuntimeEnvironment.getApplication()
    private val expected = File(System.getProperty("tetraphone.expected")!!)
    private val recordings = expected.listFiles()!!.filter { it.extension == "wav" }.sorted()
    private lateinit var engine: Engine

    @Before
    fun start() {
        shadowOf(app).grantPermissions(Manifest.permission.RECORD_AUDIO)
        engine = Engine(app, WavDecoder)
        waitFor("a model") { engine.state.model != null }
    }

    @After
    fun end() = engine.close()

    @Test
    fun listeningGivesThePhonesOfTheCommand() {
        for (wav in recordings) {
            listenTo(Player(samples(wav)))
            assertEquals(wav.name, phones(wav), engine.state.live.phones.map { it.symbol })
            assertEquals(engine.state.live.phones.size, engine.state.live.finalPhones)
            assertEquals(0L, engine.state.figures!!.lostSamples)
            assertTrue(engine.state.live.frames > 0)
        }
    }

    @Test
    fun shortAndStarvedReadsChangeNothing() {
        val wav = recordings.last()
        val random = Random(1)
        listenTo(Player(samples(wav)) { random.nextInt(0, 300) })
        assertEquals(phones(wav), engine.state.live.phones.map { it.symbol })
    }

    @Test
    fun aMicrophoneThatWasTakenAwayIsTakenUpAgain() {
        val wav = recordings.last()
        val player = Player(samples(wav))
        player.dead = true
        ShadowAudioRecord.setSourceProvider { player }
        engine.listen()
        waitFor("a retry") { player.refused > 1 }
        player.dead = false
        waitFor("all of it") { heard(player) }
        stop()
        assertEquals(phones(wav), engine.state.live.phones.map { it.symbol })
    }

    @Test
    fun aMicrophoneThatGivesOnlyErrorsIsTriedOnceASecond() {
        val player = Player(ShortArray(16000))
        player.dead = true
        ShadowAudioRecord.setSourceProvider { player }
        val start = System.nanoTime()
        engine.listen()
        waitFor("two tries") { player.refused >= 2 && engine.state.microphone == MicrophoneState.BUSY }
        val seconds = (System.nanoTime() - start) / 1e9
        assertTrue("${player.refused} tries in $seconds s", player.refused <= 1 + seconds)
    }

    @Test
    fun eachSampleOfALongStallIsCounted() {
        val total = 16000 * 300
        val flood = Flood(total)
        ShadowAudioRecord.setSourceProvider { flood }
        engine.listen()
        fun counted() = engine.state.run { live.seconds * 16000 + (figures?.lostSamples ?: 0) }
        waitFor("losses") { (engine.state.figures?.lostSamples ?: 0) > 0 && counted() > total - 1 }
        stop()
        assertEquals(total.toDouble(), counted(), 0.5)
    }

    @Test
    fun aSilencedMicrophoneIsShown() {
        val audio = app.getSystemService(AudioManager::class.java)!!
        val shadow = shadowOf(audio)
        val source = MediaRecorder.AudioSource.VOICE_RECOGNITION
        val config = shadow.createActiveRecordingConfiguration(0, source, app.packageName)
        ReflectionHelpers.setField(config, "mClientSilenced", true)
        shadow.setActiveRecordingConfigurations(listOf(config), false)
        ShadowAudioRecord.setSourceProvider { Player(ShortArray(16000 * 600)) }
        engine.listen()
        waitFor("silence") { engine.state.microphone == MicrophoneState.SILENCED }
        shadow.setActiveRecordingConfigurations(emptyList(), false)
        waitFor("listening") { engine.state.microphone == MicrophoneState.LISTENING }
    }

    @Test
    fun aPermissionThatIsWithdrawnEndsListening() {
        ShadowAudioRecord.setSourceProvider { Player(ShortArray(16000 * 60)) }
        engine.listen()
        waitFor("listening") { engine.state.microphone == MicrophoneState.LISTENING }
        shadowOf(app).denyPermissions(Manifest.permission.RECORD_AUDIO)
        waitFor("the end") { engine.state.microphone == MicrophoneState.NO_PERMISSION }
        engine.listen()
        assertEquals(MicrophoneState.NO_PERMISSION, engine.state.microphone)
    }

    @Test
    fun leavingReleasesTheMicrophoneAndComingBackTakesIt() {
        ShadowAudioRecord.setSourceProvider { Player(ShortArray(16000 * 600)) }
        engine.listen()
        waitFor("listening") { engine.state.microphone == MicrophoneState.LISTENING }
        engine.leave()
        waitFor("release") { engine.state.microphone == MicrophoneState.OFF }
        engine.comeBack()
        waitFor("listening") { engine.state.microphone == MicrophoneState.LISTENING }
        stop()
        engine.leave()
        engine.comeBack()
        assertEquals(MicrophoneState.OFF, engine.state.microphone)
    }

    @Test
    fun modelsAreSwappedWhileListening() {
        ShadowAudioRecord.setSourceProvider { Player(ShortArray(16000 * 600)) }
        engine.listen()
        var settled = 0L
        repeat(100) { turn ->
            val model = engine.state.models[turn % engine.state.models.size]
            engine.choose(model)
            waitFor("$model") { engine.state.model == model && engine.state.live.seconds in 0.001..600.0 }
            if (turn == 9) settled = PhonemeRecognizer.nativeBytes
        }
        assertEquals(0, (99 - 9) % engine.state.models.size) // the same model at both times
        assertEquals(MicrophoneState.LISTENING, engine.state.microphone)
        assertTrue("${PhonemeRecognizer.nativeBytes} after $settled", PhonemeRecognizer.nativeBytes < 1.2 * settled)
        engine.stop()
        assertNull(engine.state.error)
    }

    @Test
    fun aForeignModelIsCopiedAndUsedByTheNextProcessToo() {
        val bytes = app.assets.open("models/${engine.state.model!!.name}.pte").use { it.readBytes() }
        engine.importModel(provided("mine.pte", bytes))
        waitFor("the model") { engine.state.model == Model("mine", bytes.size.toLong(), imported = true) }
        assertTrue(engine.state.model in engine.state.models)
        engine.close()
        engine = Engine(app, WavDecoder)
        waitFor("the model again") { engine.state.model?.name == "mine" }
    }

    @Test
    fun anImportedModelIsTakenUpToASizeAndCanBeDeleted() {
        val first = engine.state.model!!
        val bytes = app.assets.open("models/${first.name}.pte").use { it.readBytes() }
        val models = Models(app)
        val most = bytes.size - 1L
        assertThrows(IOException::class.java) { models.import(provided("large.pte", bytes), most) }
        assertTrue(models.list().none { it.imported })
        engine.importModel(provided("${first.name}.pte", bytes))
        waitFor("the model") { engine.state.model?.imported == true }
        val imported = engine.state.model!!
        assertEquals("a model of one name with the app's", first.name, imported.name)
        engine.deleteModel(imported)
        waitFor("the first again") { engine.state.model == first }
        assertTrue(engine.state.models.none { it.imported })
        assertThrows(IllegalArgumentException::class.java) { models.delete(first) }
    }

    @Test
    fun listeningBeforeTheModelIsLoadedLosesNothing() {
        engine.close()
        val player = Player(samples(recordings.last()))
        ShadowAudioRecord.setSourceProvider { player }
        engine = Engine(app, WavDecoder)
        engine.listen()
        waitFor("all of it") { heard(player) }
        stop()
        assertEquals(phones(recordings.last()), engine.state.live.phones.map { it.symbol })
        assertEquals(0L, engine.state.figures!!.lostSamples)
    }

    @Test
    fun brokenModelsAreRefusedAndTheOneInUseStays() {
        val before = engine.state.model
        val bytes = app.assets.open("models/${before!!.name}.pte").use { it.readBytes() }
        val flipped = bytes.copyOf().also { it[it.size / 2] = (it[it.size / 2] + 1).toByte() }
        val broken = mapOf(
            "empty" to ByteArray(0),
            "cut" to bytes.copyOf(bytes.size / 2),
            "flipped" to flipped,
            "picture" to Random(1).nextBytes(10_000),
        )
        for ((name, content) in broken) {
            engine.importModel(provided("$name.pte", content))
            waitFor(name) { engine.state.error != null }
            assertTrue(engine.state.error, name in engine.state.error!!)
            engine.dismissError()
        }
        assertEquals(before, engine.state.model)
        assertTrue(engine.state.models.none { it.imported })
        val unread = Endless()
        shadowOf(app.contentResolver).registerInputStream(Uri.parse("content://elsewhere/film.pte"), unread)
        engine.importModel(Uri.parse("content://elsewhere/film.pte"))
        waitFor("film") { engine.state.error != null }
        assertTrue("${unread.given} bytes", unread.given < 200_000)
        engine.dismissError()
        listenTo(Player(samples(recordings.last())))
        assertEquals(phones(recordings.last()), engine.state.live.phones.map { it.symbol })
    }

    @Test
    fun aRecordingGivesThePhonesOfTheCommand() {
        for (wav in recordings) {
            engine.openRecording(Uri.fromFile(wav))
            waitFor(wav.name) { engine.state.recording?.progress == 1f }
            val recording = engine.state.recording!!
            assertEquals(wav.name, recording.name)
            assertEquals(phones(wav), recording.sound.phones.map { it.symbol })
            assertEquals(samples(wav).size / 16000.0, recording.durationSeconds!!, 1e-3)
            assertTrue(recording.sound.bands.copy(0, FloatArray(recording.sound.bands.bands)))
        }
        engine.closeRecording()
        assertNull(engine.state.recording)
    }

    @Test
    fun aRecordingThatCannotBeDecodedIsRefusedByName() {
        engine.openRecording(Uri.fromFile(File(expected, "none.wav")))
        waitFor("its refusal") { engine.state.error != null }
        assertTrue(engine.state.error, "none.wav" in engine.state.error!!)
        assertNull(engine.state.recording)
    }

    @Test
    fun practiceComparesWhatWasHeard() {
        val word = engine.words.first()
        engine.practise(word)
        assertEquals(PractiseState(word, listening = false), engine.state.practise)
        // Silence behind the word makes a pause.
        val player = Player(samples(recordings.last()) + ShortArray(16000 * 8))
        ShadowAudioRecord.setSourceProvider { player }
        engine.startPractise()
        waitFor("the result") { engine.state.practise?.listening == false }
        val result = engine.state.practise!!.result
        // Only an untrained model hears nothing.
        assertEquals(phones(recordings.last()).isEmpty(), result == null)
        if (result != null) assertEquals(word.phones, result.mapNotNull { it.expected })
        waitFor("the release") { engine.state.microphone == MicrophoneState.OFF }
    }

    @Test
    fun measuringGivesARowForEachModelAndSet() {
        val before = PhonemeRecognizer.instructionSet
        engine.measure()
        waitFor("the end") { !engine.state.measure.running && engine.state.measure.rows.isNotEmpty() }
        val turns = engine.state.models.flatMap { m -> PhonemeRecognizer.instructionSets.map { m.name to it } }
        assertEquals(turns, engine.state.measure.rows.map { it.model to it.instructionSet })
        val phones = engine.state.measure.rows.groupBy({ it.model }, { it.phones })
        for ((model, counts) in phones) assertEquals(model, 1, counts.toSet().size)
        assertEquals(before, PhonemeRecognizer.instructionSet)
        assertTrue(engine.state.measure.rows.all { it.recognizerBytes > 0 && it.delay > 0 })
    }

    @Test
    fun measuringEndsTheMicrophoneAndIsEndedByIt() {
        ShadowAudioRecord.setSourceProvider { Player(ShortArray(16000 * 600)) }
        engine.listen()
        waitFor("listening") { engine.state.microphone == MicrophoneState.LISTENING }
        engine.measure()
        waitFor("a run") { engine.state.measure.progress > 0 }
        assertEquals(MicrophoneState.OFF, engine.state.microphone)
        engine.listen()
        waitFor("listening again") { engine.state.microphone == MicrophoneState.LISTENING }
        assertEquals(false, engine.state.measure.running)
        val turns = engine.state.models.size * PhonemeRecognizer.instructionSets.size
        assertTrue("${engine.state.measure.rows.size}", engine.state.measure.rows.size < turns)
    }

    @Test
    fun closingWhileItListensIsSafe() {
        repeat(20) {
            ShadowAudioRecord.setSourceProvider { Player(ShortArray(16000 * 600)) }
            engine.listen()
            waitFor("sound") { engine.state.live.seconds > 0 }
            engine.close()
            engine = Engine(app, WavDecoder)
            waitFor("a model") { engine.state.model != null }
        }
    }

    private fun listenTo(player: Player) {
        ShadowAudioRecord.setSourceProvider { player }
        engine.listen()
        waitFor("listening") { engine.state.microphone == MicrophoneState.LISTENING }
        waitFor("all of it") { heard(player) }
        stop()
        idle()
    }

    private fun stop() {
        engine.stop()
        waitFor("the end") { engine.state.microphone == MicrophoneState.OFF }
    }

    private fun heard(player: Player) = engine.state.live.seconds * 16000 > player.sound.size - 1

    private fun provided(name: String, content: ByteArray): Uri {
        val uri = Uri.parse("content://elsewhere/$name")
        shadowOf(app.contentResolver).registerInputStream(uri, ByteArrayInputStream(content))
        return uri
    }

    private fun phones(wav: File): List<String> {
        val phones = JSONObject(File(expected, "${wav.nameWithoutExtension}.json").readText()).getJSONArray("phones")
        return List(phones.length()) { phones.getJSONObject(it).getString("phone") }
    }

    private fun waitFor(what: String, condition: () -> Boolean) {
        val end = System.nanoTime() + 60_000_000_000
        while (!condition()) {
            check(System.nanoTime() < end) { "$what did not come in a minute: ${engine.state}" }
            Thread.sleep(2)
            idle()
        }
    }

    private fun idle() = shadowOf(Looper.getMainLooper()).idle()

    /** A microphone that plays a recording, then is silent; never far ahead of the recogniser: nothing is lost. */
    private inner class Player(val sound: ShortArray, private val most: () -> Int = { 320 }) :
        ShadowAudioRecord.AudioRecordSource {
        @Volatile
        var dead = false

        @Volatile
        var refused = 0
        private var given = 0

        override fun readInShortArray(into: ShortArray, offset: Int, size: Int, blocking: Boolean): Int {
            if (dead) return (-6).also { refused++ } // ERROR_DEAD_OBJECT
            if (given >= sound.size || (given > 4000 && given - engine.state.live.seconds * 16000 > 4000)) {
                Thread.sleep(1)
                return 0
            }
            val count = minOf(size, most(), sound.size - given)
            sound.copyInto(into, offset, given, given + count)
            given += count
            return count
        }
    }

    /** A file that begins as no model does, and never ends. */
    private class Endless : InputStream() {
        var given = 0

        override fun read() = 1.also { given++ }

        override fun read(into: ByteArray, offset: Int, size: Int) = size.also { given += it }
    }

    /** A microphone that waits for nobody, as after a stall. */
    private class Flood(private var left: Int) : ShadowAudioRecord.AudioRecordSource {
        override fun readInShortArray(into: ShortArray, offset: Int, size: Int, blocking: Boolean): Int {
            if (left == 0) Thread.sleep(1)
            return minOf(size, left).also { left -= it }
        }
    }

    private object WavDecoder : Decoder {
        override fun decode(uri: Uri, wanted: () -> Boolean, sink: (Decoder.Piece) -> Unit) {
            val file = File(uri.path!!)
            if (!file.exists()) throw IOException("there is no such file")
            val all = samples(file)
            for (first in all.indices step 1000) {
                val piece = all.copyOfRange(first, minOf(first + 1000, all.size))
                val end = (first + piece.size) / 16000.0
                if (!wanted()) return
                sink(Decoder.Piece(piece, piece.size, 16000, 1, end, all.size / 16000.0))
            }
        }
    }

    private companion object {
        fun samples(wav: File): ShortArray = readWav(wav.readBytes()).first
    }
}
