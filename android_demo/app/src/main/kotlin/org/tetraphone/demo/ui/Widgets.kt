package org.tetraphone.demo.ui

import android.content.Context
import android.graphics.Canvas
import android.util.TypedValue
import android.view.Gravity
import android.view.View
import android.view.ViewGroup.LayoutParams.MATCH_PARENT
import android.view.ViewGroup.LayoutParams.WRAP_CONTENT
import android.widget.Button
import android.widget.LinearLayout
import android.widget.ProgressBar
import android.widget.TextView
import org.tetraphone.demo.R
import kotlin.math.max

internal fun Context.dp(value: Float): Int = (value * resources.displayMetrics.density + 0.5f).toInt()

internal fun Context.sp(value: Float): Float =
    TypedValue.applyDimension(TypedValue.COMPLEX_UNIT_SP, value, resources.displayMetrics)

internal fun Context.size(dimension: Int): Int = resources.getDimensionPixelSize(dimension)

internal fun Context.text(style: Int = R.style.Body, content: Int? = null) =
    TextView(this, null, 0, style).apply { content?.let(::setText) }

internal fun Context.button(style: Int, content: Int? = null, icon: Int = 0, action: (View) -> Unit): Button {
    val button = if (style == R.style.PrimaryButton) WideButton(this, style) else Button(this, null, 0, style)
    content?.let(button::setText)
    button.icon(icon)
    button.setOnClickListener(action)
    return button
}

/** Draws its icon beside the text in the middle, where a plain button leaves it at the edge. */
private class WideButton(context: Context, style: Int) : Button(context, null, 0, style) {
    init {
        gravity = Gravity.START or Gravity.CENTER_VERTICAL
    }

    override fun onDraw(canvas: Canvas) {
        val text = layout?.let { layout -> (0 until layout.lineCount).maxOf { layout.getLineWidth(it) } } ?: 0f
        val free = max(0f, width - compoundPaddingLeft - compoundPaddingRight - text)
        canvas.translate(if (layoutDirection == LAYOUT_DIRECTION_RTL) -free / 2 else free / 2, 0f)
        super.onDraw(canvas)
    }
}

/** The button in its [stop] dress, or in its usual one. */
internal fun Button.wear(stop: Boolean, icon: Int) {
    val colour = context.getColorStateList(if (stop) R.color.on_stop else R.color.on_accent)
    setTextColor(colour)
    compoundDrawableTintList = colour
    icon(if (stop) R.drawable.stop else icon)
    setBackgroundResource(if (stop) R.drawable.button_stop else R.drawable.button_filled)
}

/** The name of a place. */
internal fun Context.title(content: Int) = text(R.style.Title, content).apply {
    minHeight = size(R.dimen.touch)
    gravity = Gravity.CENTER_VERTICAL
}

/** An icon before the text. */
internal fun TextView.icon(icon: Int) = setCompoundDrawablesRelativeWithIntrinsicBounds(icon, 0, 0, 0)

internal fun Context.column(vararg views: View, gap: Int = size(R.dimen.gap)) = LinearLayout(this).apply {
    orientation = LinearLayout.VERTICAL
    for (view in views) addView(view, LinearLayout.LayoutParams(MATCH_PARENT, WRAP_CONTENT).apply { topMargin = gap })
}

internal fun Context.progress() = ProgressBar(this, null, android.R.attr.progressBarStyleHorizontal).apply {
    max = 1000
}

/** Lets [view] take the height that its neighbours in a [column] leave, if more than its least. */
internal fun stretch(view: View) {
    (view.layoutParams as LinearLayout.LayoutParams).apply {
        height = 0
        weight = 1f
    }
}

/** Sets the text if it is another one, so that nothing is measured or announced in vain. */
internal fun TextView.put(content: CharSequence) {
    if (text.toString() != content.toString()) text = content
}

internal fun View.showIf(condition: Boolean) {
    visibility = if (condition) View.VISIBLE else View.GONE
}
