package org.tetraphone.demo.ui

import android.content.Context
import android.text.format.Formatter
import android.view.Gravity
import android.view.ViewGroup
import android.widget.LinearLayout
import org.tetraphone.demo.Figures
import org.tetraphone.demo.R
import java.text.NumberFormat
import kotlin.math.roundToInt

/** What recognition costs: a line, and, opened by a press, each figure over its name. */
internal class FiguresView(context: Context, private val host: Host) : LinearLayout(context) {
    private class Figure(context: Context, private val name: Int) : LinearLayout(context) {
        private val value = context.text(R.style.Figure)

        init {
            orientation = VERTICAL
            addView(value)
            addView(context.text(R.style.FigureName, name))
            isFocusable = true
        }

        fun show(text: String?, alarm: Boolean = false) {
            value.put(text ?: "–")
            value.setTextColor(context.getColor(if (alarm) R.color.error else R.color.text))
            value.icon(if (alarm) R.drawable.warning else 0)
            contentDescription = "${context.getString(name)}: ${value.text}"
        }
    }

    private val line = context.text(R.style.Small).apply {
        minHeight = context.size(R.dimen.touch)
        gravity = Gravity.CENTER_VERTICAL
        setOnClickListener { host.figuresOpen = !host.figuresOpen }
    }
    private val figures = FlowLayout(context, even = true)
    private val realTime = figure(R.string.figure_real_time)
    private val delay = figure(R.string.figure_delay)
    private val process = figure(R.string.figure_process)
    private val recognizer = figure(R.string.figure_recognizer)
    private val model = figure(R.string.figure_model)
    private val instructions = figure(R.string.figure_instructions)
    private val lost = figure(R.string.figure_lost)

    init {
        id = R.id.figures
        setBackgroundResource(R.drawable.card)
        val margin = context.dp(12f)
        setPadding(margin, 0, margin, 0)
        figures.setPadding(0, 0, 0, margin)
        orientation = VERTICAL
        line.id = R.id.figures_line
        addView(line, LayoutParams(ViewGroup.LayoutParams.MATCH_PARENT, ViewGroup.LayoutParams.WRAP_CONTENT))
        addView(figures, LayoutParams(ViewGroup.LayoutParams.MATCH_PARENT, ViewGroup.LayoutParams.WRAP_CONTENT))
    }

    private fun figure(name: Int) = Figure(context, name).also { figures.addView(it) }

    fun show(now: Figures?) {
        val lost = now?.lostSamples ?: 0
        figures.showIf(host.figuresOpen)
        line.put(summary(now))
        line.setTextColor(context.getColor(if (lost > 0) R.color.error else R.color.text_secondary))
        line.setCompoundDrawablesRelativeWithIntrinsicBounds(
            if (lost > 0) R.drawable.warning else 0,
            0,
            if (host.figuresOpen) R.drawable.less else R.drawable.more,
            0,
        )
        realTime.show(now?.let { factor(it.realTimeFactor) })
        delay.show(now?.delaySeconds?.let { context.getString(R.string.milliseconds, "${(it * 1000).roundToInt()}") })
        process.show(now?.let { bytes(context, it.processBytes) })
        recognizer.show(now?.let { bytes(context, it.recognizerBytes) })
        model.show(now?.let { bytes(context, it.modelBytes) })
        instructions.show(now?.instructionSet)
        this.lost.show(now?.let { NumberFormat.getIntegerInstance().format(it.lostSamples) }, lost > 0)
    }

    private fun summary(now: Figures?): String {
        if (now == null) return context.getString(R.string.figures_none)
        if (now.lostSamples > 0) {
            return context.getString(R.string.figures_lost, NumberFormat.getIntegerInstance().format(now.lostSamples))
        }
        if (now.realTimeFactor == 0.0) return context.getString(R.string.figures_none) // nothing was heard yet
        val times = (1 / now.realTimeFactor).roundToInt()
        val delay = now.delaySeconds?.let { context.getString(R.string.milliseconds, "${(it * 1000).roundToInt()}") }
        return context.getString(R.string.figures_line, NumberFormat.getIntegerInstance().format(times), delay ?: "–")
    }
}

internal fun bytes(context: Context, count: Long): String = Formatter.formatShortFileSize(context, count)

internal fun factor(value: Double): String = NumberFormat.getNumberInstance().apply {
    minimumFractionDigits = 3
    maximumFractionDigits = 3
}.format(value)

internal fun percent(share: Float): String = NumberFormat.getPercentInstance().format(share.toDouble())
