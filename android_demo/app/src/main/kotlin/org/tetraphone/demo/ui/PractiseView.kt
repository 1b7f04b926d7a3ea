package org.tetraphone.demo.ui

import android.content.Context
import android.widget.Button
import android.widget.LinearLayout
import android.widget.TextView
import org.tetraphone.demo.Aligned
import org.tetraphone.demo.Engine
import org.tetraphone.demo.PractiseState
import org.tetraphone.demo.R
import org.tetraphone.demo.UiState
import org.tetraphone.demo.Word

internal class PractiseView(context: Context, private val engine: Engine, private val host: Host) : Place(context) {
    private val header = Header(context, R.string.practise, host)
    private val notice = MicrophoneNotice(context, host, Purpose.PRACTISE)
    private val word = context.text(R.style.Word).apply { id = R.id.word }
    private val expected = context.text(R.style.Phones)
    private val contrast = context.text(R.style.Small)
    private val summary = context.text(R.style.Heading).apply {
        accessibilityLiveRegion = ACCESSIBILITY_LIVE_REGION_POLITE
    }
    private val result = FlowLayout(context).apply { id = R.id.result }
    private val words = FlowLayout(context)
    private val chips = mutableMapOf<Word, Button>()
    private val button = context.button(R.style.PrimaryButton) {
        if (engine.state.practise?.listening == true) engine.stop() else host.withMicrophone(Purpose.PRACTISE)
    }
    private var said: Word? = null
    private var shown: Pair<List<Aligned>?, Boolean>? = null

    init {
        button.id = R.id.primary
        for (word in engine.words) {
            chips[word] = context.button(R.style.Chip) { engine.practise(word) }.also {
                it.text = word.text
                words.addView(it)
            }
        }
        arrange(
            context.column(header, notice, word, expected, contrast, summary, result),
            context.column(context.text(R.style.Heading, R.string.words), words),
            button,
        )
    }

    override fun show(state: UiState) {
        header.show(state)
        notice.show(state)
        val practise = state.practise
        for ((each, chip) in chips) chip.isSelected = each == practise?.word
        for (view in listOf(word, expected)) view.showIf(practise != null)
        contrast.showIf(practise?.word?.contrast != null)
        button.showIf(practise != null)
        if (practise == null) summary.put(context.getString(R.string.choose_word)) else show(practise)
        showResult(practise?.result)
    }

    private fun show(practise: PractiseState) {
        val listening = practise.listening
        word.put(practise.word.text)
        expected.put(Symbols.write(practise.word.phones, host.ipa))
        practise.word.contrast?.let { contrast.put(context.getString(R.string.not_to_confuse, it)) }
        button.put(context.getString(if (listening) R.string.say_now else R.string.say_it, practise.word.text))
        button.wear(stop = listening, R.drawable.microphone)
        keepScreenOn = listening
        val places = practise.result
        val right = places?.count { it.expected == it.heard } ?: 0
        said = practise.word.takeIf { listening || it == said }
        summary.showIf(listening || places != null || said != null)
        when {
            listening -> summary.put(context.getString(R.string.saying))
            places == null -> summary.put(context.getString(R.string.nothing_said))
            right == places.size -> summary.put(context.getString(R.string.all_right))
            else -> summary.put(context.getString(R.string.some_right, right, places.count { it.expected != null }))
        }
    }

    private fun showResult(places: List<Aligned>?) {
        val now = places to host.ipa
        if (now == shown) return
        shown = now
        result.removeAllViews()
        for (place in places.orEmpty()) result.addView(card(place))
    }

    /** Sign, phones and word say how it went; the colour only repeats it. */
    private fun card(place: Aligned): LinearLayout {
        val expected = place.expected?.let { Symbols.write(it, host.ipa) }
        val heard = place.heard?.let { Symbols.write(it, host.ipa) }
        val kind = when {
            place.expected == place.heard -> Kind.RIGHT
            expected == null -> Kind.ADDED
            heard == null -> Kind.MISSED
            else -> Kind.DIFFERENT
        }
        val phones = if (kind == Kind.DIFFERENT) "$expected → $heard" else expected ?: heard.orEmpty()
        val margin = context.size(R.dimen.margin)
        return LinearLayout(context).apply {
            orientation = LinearLayout.VERTICAL
            setBackgroundResource(kind.background)
            setPadding(margin, margin / 2, margin, margin / 2)
            addView(context.text(R.style.Heading).apply { text = phones })
            addView(context.text(R.style.Small).apply { text = "${kind.sign} ${context.getString(kind.label)}" })
            for (each in 0 until childCount) (getChildAt(each) as TextView).setTextColor(context.getColor(kind.colour))
            isFocusable = true
            contentDescription = context.getString(kind.says, expected ?: heard, heard)
        }
    }

    private enum class Kind(val sign: String, val label: Int, val says: Int, val background: Int, val colour: Int) {
        RIGHT("=", R.string.right, R.string.right_says, R.drawable.right, R.color.on_right_surface),
        DIFFERENT("≠", R.string.different, R.string.different_says, R.drawable.different, R.color.on_different_surface),
        MISSED("−", R.string.missed, R.string.missed_says, R.drawable.missed, R.color.on_error_surface),
        ADDED("+", R.string.added, R.string.added_says, R.drawable.added, R.color.on_added_surface),
    }
}
