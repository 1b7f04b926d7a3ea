package org.tetraphone.demo

import android.Manifest
import android.annotation.SuppressLint
import android.content.Context
import android.content.pm.PackageManager
import android.media.AudioFormat
import android.media.AudioManager
import android.media.AudioRecord
import android.media.MediaRecorder
import android.os.Build
import android.os.Process
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit

/** Whether the user allows the microphone now. */
internal val Context.mayRecord
    get() = checkSelfPermission(Manifest.permission.RECORD_AUDIO) == PackageManager.PERMISSION_GRANTED

/**
 * The microphone: a thread that does nothing but read it into a ring, until it is closed. [tell] hears how it goes, but
 * not of the end that was asked for.
 */
internal class Capture(private val context: Context, private val tell: (MicrophoneState) -> Unit) : AutoCloseable {
    /** Hz, once the first samples are in the ring. */
    @Volatile
    var rate = RATES.first()
        private set

    val ring = Ring(RATES.last()) // a second, or more

    private val manager = checkNotNull(context.getSystemService(AudioManager::class.java))
    private val end = CountDownLatch(1)

    init {
        Thread(::run, "microphone").start()
    }

    /** Ends the recording, without waiting for it; what is in the ring stays. */
    override fun close() = end.countDown()

    private val ended get() = end.count == 0L

    private fun run() {
        Process.setThreadPriority(Process.THREAD_PRIORITY_URGENT_AUDIO)
        try {
            do {
                if (!context.mayRecord) return tell(MicrophoneState.NO_PERMISSION)
                val record = open()
                val heard = record != null && read(record)
                if (!heard && !ended) tell(MicrophoneState.BUSY)
            } while (!end.await(if (heard) 0 else RETRY_MILLIS, TimeUnit.MILLISECONDS))
        } catch (_: SecurityException) {
            tell(MicrophoneState.NO_PERMISSION)
        } catch (_: RuntimeException) { // whatever a device's audio system throws
            tell(MicrophoneState.FAILED)
        } finally {
            ring.close()
        }
    }

    /** Recording at the first rate that the device takes; null while another has the microphone. */
    @SuppressLint("MissingPermission") // asked above
    private fun open(): AudioRecord? {
        val sizes = RATES.associateWith { AudioRecord.getMinBufferSize(it, CHANNEL, ENCODING) }.filterValues { it > 0 }
        if (sizes.isEmpty()) throw UnsupportedOperationException("no microphone")
        for ((rate, size) in sizes) {
            val record = try {
                AudioRecord(SOURCE, rate, CHANNEL, ENCODING, maxOf(size, rate))
            } catch (_: IllegalArgumentException) {
                continue
            }
            if (record.state == AudioRecord.STATE_INITIALIZED) {
                runCatching { record.startRecording() }
                if (record.recordingState == AudioRecord.RECORDSTATE_RECORDING) {
                    this.rate = rate
                    return record
                }
            }
            record.release()
        }
        return null
    }

    /** Until the end, or until the device takes the microphone away; whether it gave any sound before. */
    private fun read(record: AudioRecord): Boolean {
        val samples = ShortArray(record.sampleRate / READS_A_SECOND)
        var reads = 0
        var heard = false
        try {
            while (!ended) {
                if (reads % READS_A_SECOND == 0) {
                    if (!context.mayRecord) throw SecurityException("the permission was withdrawn")
                    tell(if (silenced(record)) MicrophoneState.SILENCED else MicrophoneState.LISTENING)
                }
                reads++
                val count = record.read(samples, 0, samples.size)
                if (count < 0) return heard
                if (count > 0) heard = true
                if (count == 0) end.await(1, TimeUnit.MILLISECONDS) // starved
                ring.put(samples, count)
            }
            return heard
        } finally {
            runCatching { record.stop() }
            record.release()
        }
    }

    private fun silenced(record: AudioRecord) = Build.VERSION.SDK_INT >= Build.VERSION_CODES.Q &&
        manager.activeRecordingConfigurations.any {
            it.clientAudioSessionId == record.audioSessionId && it.isClientSilenced
        }

    private companion object {
        const val SOURCE = MediaRecorder.AudioSource.VOICE_RECOGNITION
        const val CHANNEL = AudioFormat.CHANNEL_IN_MONO
        const val ENCODING = AudioFormat.ENCODING_PCM_16BIT
        const val READS_A_SECOND = 50
        const val RETRY_MILLIS = 1000L

        /** Hz: the models' own first. */
        val RATES = listOf(16000, 44100, 48000)
    }
}
