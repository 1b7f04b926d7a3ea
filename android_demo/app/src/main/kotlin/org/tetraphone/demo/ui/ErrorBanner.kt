package org.tetraphone.demo.ui

import android.content.Context
import android.content.res.ColorStateList
import android.view.Gravity
import android.view.ViewGroup.LayoutParams.WRAP_CONTENT
import android.widget.ImageButton
import android.widget.LinearLayout
import android.widget.ScrollView
import org.tetraphone.demo.R

/** What went wrong, until it is dismissed. */
internal class ErrorBanner(context: Context, dismiss: () -> Unit) : LinearLayout(context) {
    private val message = context.text().apply {
        accessibilityLiveRegion = ACCESSIBILITY_LIVE_REGION_ASSERTIVE
        setTextColor(context.getColor(R.color.on_error_surface))
    }

    init {
        id = R.id.error
        gravity = Gravity.CENTER_VERTICAL
        setBackgroundResource(R.drawable.error_card)
        val margin = context.size(R.dimen.margin)
        setPaddingRelative(margin, margin / 4, margin / 4, margin / 4)
        val touch = context.size(R.dimen.touch)
        val close = ImageButton(context).apply {
            id = R.id.dismiss
            setImageResource(R.drawable.close)
            imageTintList = ColorStateList.valueOf(context.getColor(R.color.on_error_surface))
            setBackgroundResource(R.drawable.error_card)
            contentDescription = context.getString(R.string.dismiss)
            setOnClickListener { dismiss() }
        }
        addView(ScrollView(context).apply { addView(message) }, LayoutParams(0, WRAP_CONTENT, 1f))
        addView(close, LayoutParams(touch, touch))
    }

    /** Half of a small window at most: what it covers must stay in reach. */
    override fun onMeasure(width: Int, height: Int) =
        super.onMeasure(width, MeasureSpec.makeMeasureSpec(MeasureSpec.getSize(height) / 2, MeasureSpec.AT_MOST))

    fun show(error: String?) {
        showIf(error != null)
        message.put(error.orEmpty())
    }
}
