package org.tetraphone.demo.ui

import android.content.Context
import android.text.format.DateUtils
import android.view.ViewGroup.LayoutParams.MATCH_PARENT
import android.widget.FrameLayout
import android.widget.HorizontalScrollView
import org.tetraphone.PhonemeRecognizer.Phone
import org.tetraphone.demo.Engine
import org.tetraphone.demo.R
import org.tetraphone.demo.RecordingState
import org.tetraphone.demo.Sound
import org.tetraphone.demo.UiState

internal class RecordingsView(context: Context, private val engine: Engine, private val host: Host) : Place(context) {
    private val header = Header(context, R.string.recordings, host)
    private val empty = context.text(content = R.string.no_recording)
    private val name = context.text(R.style.Heading)
    private val progress = context.progress()
    private val spectrogram = SpectrogramView(context, whole = true).apply {
        id = R.id.spectrogram
        onTap = engine::seek
    }
    private val strip = HorizontalScrollView(context).apply {
        id = R.id.recording_scroll
        layoutDirection = LAYOUT_DIRECTION_LTR
        isFillViewport = true
        isHorizontalScrollBarEnabled = false
        setBackgroundResource(R.drawable.card)
        addView(spectrogram, FrameLayout.LayoutParams(MATCH_PARENT, MATCH_PARENT))
        setOnScrollChangeListener { _, _, _, _, _ -> spectrogram.invalidate() }
    }
    private val position = context.text(R.style.Small)
    private val kept = context.text(R.style.Small)
    private val times = context.text(R.style.Small, R.string.times_of_phones)
    private var written: Pair<List<Phone>, Boolean>? = null
    private val heard = context.text(R.style.Phones).apply { id = R.id.heard }
    private val share = context.button(R.style.PlainButton, R.string.share, R.drawable.share) {
        host.ask(Question.SHARE)
    }
    private val save = context.button(R.style.PlainButton, R.string.save, R.drawable.save) { host.ask(Question.SAVE) }
    private val another = context.button(R.style.PlainButton, R.string.open_another, R.drawable.open) {
        host.pickRecording()
    }
    private val close = context.button(R.style.PlainButton, R.string.close_recording, R.drawable.close) {
        engine.closeRecording()
    }
    private val actions = FlowLayout(context)
    private val button = context.button(R.style.PrimaryButton) { pressed() }

    init {
        button.id = R.id.primary
        share.id = R.id.share
        save.id = R.id.save
        another.id = R.id.open
        close.id = R.id.close
        for (action in listOf(share, save, another, close)) actions.addView(action)
        val main = context.column(header, empty, name, progress, strip, kept, position)
        stretch(strip)
        arrange(main, context.column(heard, times, actions), button)
    }

    override fun show(state: UiState) {
        header.show(state)
        val recording = state.recording
        empty.showIf(recording == null)
        for (view in listOf(name, strip, position, actions, times)) view.showIf(recording != null)
        if (recording == null) kept.showIf(false)
        progress.showIf(recording != null && recording.progress < 1)
        heard.showIf(recording != null && recording.progress >= 1)
        for (view in listOf(share, save)) view.showIf(recording != null && recording.progress >= 1)
        button.setText(label(recording))
        button.icon(icon(recording))
        recording?.let(::show)
    }

    private fun show(recording: RecordingState) {
        name.put(recording.name)
        progress.progress = (recording.progress * progress.max).toInt()
        position.put(
            if (recording.progress < 1) {
                context.getString(R.string.recognising, percent(recording.progress))
            } else {
                val length = recording.durationSeconds ?: recording.sound.seconds
                context.getString(R.string.position, clock(recording.position), clock(length))
            },
        )
        spectrogram.ipa = host.ipa
        spectrogram.show(
            recording.sound,
            moves = false,
            position = recording.position.takeIf {
                recording.playing ||
                    it > 0
            },
        )
        showHeard(recording.sound)
        if (recording.playing) strip.scrollTo((spectrogram.x(recording.position) - strip.width / 2).toInt(), 0)
    }

    /** Thirty times a second while it plays, so only what is new. */
    private fun showHeard(sound: Sound) {
        if (written?.first === sound.phones && written?.second == host.ipa) return
        written = sound.phones to host.ipa
        val phones = sound.phones.map { it.symbol }
        heard.put(if (phones.isEmpty()) context.getString(R.string.no_phones) else Symbols.write(phones, host.ipa))
        val missing = sound.bands.first * sound.bands.hop
        kept.showIf(missing > 0)
        kept.put(context.getString(R.string.spectrogram_kept, clock(missing)))
    }

    private fun label(recording: RecordingState?) = when {
        recording == null -> R.string.open_recording
        recording.playing -> R.string.pause
        else -> R.string.play
    }

    private fun icon(recording: RecordingState?) = when {
        recording == null -> R.drawable.open
        recording.playing -> R.drawable.pause
        else -> R.drawable.play
    }

    private fun pressed() {
        val recording = engine.state.recording
        when {
            recording == null -> host.pickRecording()
            recording.playing -> engine.pausePlaying()
            else -> engine.play()
        }
    }

    private fun clock(seconds: Double) = DateUtils.formatElapsedTime(seconds.toLong())
}
