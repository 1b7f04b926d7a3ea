package org.tetraphone.demo

import android.content.Context
import android.media.AudioFormat
import android.media.MediaCodec
import android.media.MediaExtractor
import android.media.MediaFormat
import android.net.Uri
import java.io.IOException
import java.nio.ByteBuffer
import java.nio.ByteOrder

/** Sound of a recording, piece by piece. */
internal fun interface Decoder {
    /** Gives [sink] all of it, as long as it is [wanted]. Throws [IOException] that says what is wrong. */
    fun decode(uri: Uri, wanted: () -> Boolean, sink: (Piece) -> Unit)

    /** [count] samples of each channel, interleaved; where it ends and how long the recording is, in seconds. */
    class Piece(
        val samples: ShortArray,
        val count: Int,
        val rate: Int,
        val channels: Int,
        val end: Double,
        val duration: Double?,
    )
}

/** Whatever Android decodes. */
internal class PlatformDecoder(private val context: Context) : Decoder {
    override fun decode(uri: Uri, wanted: () -> Boolean, sink: (Decoder.Piece) -> Unit) {
        val extractor = MediaExtractor()
        try {
            extractor.setDataSource(context, uri, null)
            val track = (0 until extractor.trackCount).find { mime(extractor.getTrackFormat(it)).startsWith("audio/") }
                ?: throw IOException("it holds no sound")
            extractor.selectTrack(track)
            val format = extractor.getTrackFormat(track)
            val codec = MediaCodec.createDecoderByType(mime(format))
            try {
                codec.configure(format, null, null, 0)
                codec.start()
                pump(extractor, codec, format, wanted, sink)
            } finally {
                codec.release()
            }
        } catch (failure: RuntimeException) { // how the platform's decoders refuse
            throw IOException(failure.message ?: "Android cannot decode it", failure)
        } finally {
            extractor.release()
        }
    }

    private fun pump(
        extractor: MediaExtractor,
        codec: MediaCodec,
        input: MediaFormat,
        wanted: () -> Boolean,
        sink: (Decoder.Piece) -> Unit,
    ) {
        val known = input.containsKey(MediaFormat.KEY_DURATION)
        val duration = if (known) input.getLong(MediaFormat.KEY_DURATION) / 1e6 else null
        val info = MediaCodec.BufferInfo()
        var format = input
        var fed = false
        var decoded = 0L
        while (wanted()) {
            if (!fed) fed = feed(extractor, codec)
            val index = codec.dequeueOutputBuffer(info, WAIT_MICROS)
            if (index == MediaCodec.INFO_OUTPUT_FORMAT_CHANGED) format = codec.outputFormat
            if (index < 0) continue
            val rate = format.getInteger(MediaFormat.KEY_SAMPLE_RATE)
            val channels = format.getInteger(MediaFormat.KEY_CHANNEL_COUNT)
            val samples = samples(checkNotNull(codec.getOutputBuffer(index)), info, format)
            codec.releaseOutputBuffer(index, false)
            val count = samples.size / channels
            decoded += count
            val piece = Decoder.Piece(samples, count, rate, channels, decoded.toDouble() / rate, duration)
            if (count > 0) sink(piece)
            if (info.flags and MediaCodec.BUFFER_FLAG_END_OF_STREAM != 0) return
        }
    }

    /** Whether all was fed. */
    private fun feed(extractor: MediaExtractor, codec: MediaCodec): Boolean {
        val index = codec.dequeueInputBuffer(WAIT_MICROS)
        if (index < 0) return false
        val size = extractor.readSampleData(checkNotNull(codec.getInputBuffer(index)), 0)
        if (size < 0) {
            codec.queueInputBuffer(index, 0, 0, 0, MediaCodec.BUFFER_FLAG_END_OF_STREAM)
            return true
        }
        codec.queueInputBuffer(index, 0, size, extractor.sampleTime, 0)
        extractor.advance()
        return false
    }

    private fun samples(buffer: ByteBuffer, info: MediaCodec.BufferInfo, format: MediaFormat): ShortArray {
        buffer.position(info.offset).limit(info.offset + info.size)
        val bytes = buffer.slice().order(ByteOrder.nativeOrder())
        val encoding = MediaFormat.KEY_PCM_ENCODING
        val float = format.containsKey(encoding) && format.getInteger(encoding) == AudioFormat.ENCODING_PCM_FLOAT
        if (!float) return ShortArray(bytes.remaining() / 2).also { bytes.asShortBuffer().get(it) }
        val values = bytes.asFloatBuffer()
        return ShortArray(values.remaining()) { (values.get(it) * 32768).toInt().coerceIn(-32768, 32767).toShort() }
    }

    private fun mime(format: MediaFormat) = format.getString(MediaFormat.KEY_MIME).orEmpty()

    private companion object {
        const val WAIT_MICROS = 10_000L
    }
}
