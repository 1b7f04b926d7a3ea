package org.tetraphone.demo

import android.content.ContentProvider
import android.content.ContentValues
import android.database.Cursor
import android.media.AudioManager
import android.media.MediaFormat
import android.net.Uri
import android.os.Looper
import org.junit.After
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertNotEquals
import org.junit.Assert.assertNull
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Before
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.RuntimeEnvironment
import org.robolectric.Shadows.shadowOf
import org.robolectric.annotation.Config
import org.robolectric.shadows.ShadowContentResolver
import org.robolectric.shadows.ShadowMediaCodec
import org.robolectric.shadows.ShadowMediaExtractor
import org.robolectric.shadows.ShadowMediaPlayer
import org.robolectric.shadows.util.DataSource
import java.io.File
import java.io.IOException
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.concurrent.CountDownLatch

/** Recordings by Android's own decoder and player, as Robolectric has them, and what waits for other apps. */
@RunWith(Runner::class)
@Config(sdk = [35])
class RecordingsTest {
    private val app = RuntimeEnvironment.getApplication()
    private val wav = File(System.getProperty("tetraphone.expected"), "measure.wav")
    private val uri = Uri.parse("content://recordings/one")
    private lateinit var engine: Engine

    @Before
    fun start() = begin(PlatformDecoder(app))

    @After
    fun end() = engine.close()

    private fun begin(decoder: Decoder) {
        engine = Engine(app, decoder)
        waitFor("a model") { engine.state.model != null }
    }

    @Test
    fun theDecoderGivesAllSamplesAndEndsWhenNoLongerWanted() {
        val (samples, rate) = offer()
        val found = mutableListOf<Short>()
        val decoder = PlatformDecoder(app)
        decoder.decode(uri, { true }) {
            assertEquals(rate to 1, it.rate to it.channels)
            found += it.samples.take(it.count)
            assertEquals(found.size / rate.toDouble(), it.end, 1e-9)
        }
        assertEquals(samples.toList(), found)
        decoder.decode(uri, { false }) { throw AssertionError("it was not wanted") }
        val silent = Uri.parse("content://recordings/none")
        val picture = MediaFormat.createVideoFormat("video/x", 1, 1)
        ShadowMediaExtractor.addTrack(DataSource.toDataSource(app, silent), picture, ByteArray(1))
        val refusal = assertThrows(IOException::class.java) { decoder.decode(silent, { true }) {} }
        assertEquals("it holds no sound", refusal.message)
    }

    @Test
    fun aRecordingIsRecognisedAgainByAnotherModel() {
        offer()
        engine.openRecording(uri)
        val first = engine.state.model
        waitFor("its phones") { engine.state.recording?.progress == 1f }
        val before = engine.state.recording!!.sound
        assertTrue(before.phones.isNotEmpty())
        engine.choose(engine.state.models.last())
        waitFor("the other model") { engine.state.model != first }
        waitFor("its phones") { engine.state.recording?.run { progress == 1f && sound !== before } == true }
        assertNotEquals(before.phones, engine.state.recording!!.sound.phones)
    }

    @Test
    fun closingEndsADecoderThatGivesNothing() {
        engine.close()
        val began = CountDownLatch(1)
        val ended = CountDownLatch(1)
        begin { _, wanted, _ ->
            began.countDown()
            while (wanted()) Thread.sleep(1)
            ended.countDown()
        }
        engine.openRecording(uri)
        began.await()
        engine.closeRecording()
        waitFor("the end") { ended.count == 0L }
        assertNull(engine.state.error)
    }

    @Test
    fun otherAppsAreAskedBesideTheMainThread() {
        val slow = Slow()
        ShadowContentResolver.registerProviderInternal(uri.authority, slow)
        engine.openRecording(uri)
        assertEquals(uri, engine.state.recording?.uri) // while the other app still thinks
        slow.answer.countDown()
        waitFor("its refusal") { engine.state.error != null }
        assertEquals(setOf(false), slow.onMain)
    }

    @Test
    fun playingTakesTheSoundAndPausesForOthers() {
        offer()
        val source = DataSource.toDataSource(app, uri)
        ShadowMediaPlayer.addMediaInfo(source, ShadowMediaPlayer.MediaInfo(3000, 10))
        engine.openRecording(uri)
        engine.seek(1.0)
        engine.play()
        assertEquals(true, engine.state.recording?.playing)
        waitFor("the sound") { (engine.state.recording?.position ?: 0.0) > 1.0 }
        val audio = shadowOf(app.getSystemService(AudioManager::class.java))
        val request = audio.lastAudioFocusRequest
        assertEquals(AudioManager.AUDIOFOCUS_GAIN_TRANSIENT, request.audioFocusRequest.focusGain)
        request.listener.onAudioFocusChange(AudioManager.AUDIOFOCUS_LOSS_TRANSIENT)
        waitFor("the pause") { engine.state.recording?.playing == false }
        engine.play()
        waitFor("its end") { engine.state.recording?.run { !playing && position == 0.0 } == true }
    }

    @Test
    fun whatCannotBePlayedIsSaid() {
        offer()
        val source = DataSource.toDataSource(app, uri)
        ShadowMediaPlayer.addException(source, IOException("gone"))
        engine.openRecording(uri)
        engine.play()
        waitFor("the refusal") { "gone" in engine.state.error.orEmpty() }
        assertFalse(engine.state.recording!!.playing)
    }

    /** The bytes of measure.wav as a track of raw sound, behind a decoder that changes nothing. */
    private fun offer(): Pair<ShortArray, Int> {
        val (samples, rate) = readWav(wav.readBytes())
        val bytes = ByteBuffer.allocate(2 * samples.size).order(ByteOrder.nativeOrder())
        bytes.asShortBuffer().put(samples)
        val format = MediaFormat.createAudioFormat("audio/raw", rate, 1)
        ShadowMediaExtractor.addTrack(DataSource.toDataSource(app, uri), format, bytes.array())
        val codec = ShadowMediaCodec.CodecConfig(4096, 4096) { input, output -> output.put(input) }
        ShadowMediaCodec.addDecoder("audio/raw", codec)
        return samples to rate
    }

    private fun waitFor(what: String, condition: () -> Boolean) {
        val end = System.nanoTime() + 60_000_000_000
        while (!condition()) {
            check(System.nanoTime() < end) { "$what did not come in a minute: ${engine.state}" }
            Thread.sleep(2)
            shadowOf(Looper.getMainLooper()).idleFor(java.time.Duration.ofMillis(20))
        }
    }

    /** Another app that takes its time to say what a file is called. */
    private class Slow : ContentProvider() {
        val answer = CountDownLatch(1)
        val onMain = mutableSetOf<Boolean>()

        override fun onCreate() = true

        override fun query(
            uri: Uri,
            columns: Array<out String>?,
            selection: String?,
            arguments: Array<out String>?,
            order: String?,
        ): Cursor? {
            onMain += Looper.getMainLooper().isCurrentThread
            if (false in onMain) answer.await()
            return null
        }

        override fun getType(uri: Uri): String? = null

        override fun insert(uri: Uri, values: ContentValues?): Uri? = null

        override fun delete(uri: Uri, selection: String?, arguments: Array<out String>?) = 0

        override fun update(uri: Uri, values: ContentValues?, selection: String?, arguments: Array<out String>?) = 0
    }
}
