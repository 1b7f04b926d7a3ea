package org.tetraphone.demo.ui

import android.content.Context
import android.view.Gravity
import android.view.View
import android.widget.LinearLayout
import android.widget.ScrollView
import org.tetraphone.demo.R

/** The five places, at the bottom or at the side; names are left out (but still spoken) where they would not fit. */
internal class NavigationBar(context: Context, private val side: Boolean, go: (Tab) -> Unit) : ScrollView(context) {
    enum class Tab(val id: Int, val title: Int, val icon: Int) {
        LISTEN(R.id.listen, R.string.listen, R.drawable.microphone),
        RECORDINGS(R.id.recordings, R.string.recordings, R.drawable.recordings),
        PRACTISE(R.id.practise, R.string.practise, R.drawable.practise),
        MEASURE(R.id.measure, R.string.measure, R.drawable.measure),
        ABOUT(R.id.about, R.string.about, R.drawable.about),
    }

    private val items = LinearLayout(context)

    init {
        setBackgroundColor(context.getColor(R.color.bar))
        items.orientation = if (side) LinearLayout.VERTICAL else LinearLayout.HORIZONTAL
        val gap = context.dp(4f)
        items.setPadding(gap, gap, gap, gap)
        val named = namesFit()
        for (tab in Tab.values()) {
            val item = context.button(R.style.BarItem) { go(tab) }
            item.id = tab.id
            item.contentDescription = context.getString(tab.title)
            item.tooltipText = context.getString(tab.title)
            item.setCompoundDrawablesRelativeWithIntrinsicBounds(0, tab.icon, 0, 0)
            item.compoundDrawableTintList = context.getColorStateList(R.color.bar_item)
            item.gravity = Gravity.TOP or Gravity.CENTER_HORIZONTAL
            val space = context.dp(if (named) 7f else 16f)
            item.setPadding(gap, space, gap, 0)
            if (named) item.setText(tab.title)
            items.addView(item, place())
        }
        addView(items)
    }

    private fun place(): LinearLayout.LayoutParams {
        val height = context.dp(56f)
        if (!side) return LinearLayout.LayoutParams(0, height, 1f)
        return LinearLayout.LayoutParams(context.dp(SIDE_WIDTH - 8), height)
    }

    private fun namesFit(): Boolean {
        val window = resources.configuration.screenWidthDp
        val room = if (side) SIDE_WIDTH - 16 else (window - 8f) / Tab.values().size - 8
        val paint = context.text().paint.apply { textSize = context.sp(12f) }
        val widest = Tab.values().maxOf { paint.measureText(context.getString(it.title)) }
        return widest <= context.dp(room) && paint.fontSpacing <= context.dp(20f)
    }

    fun select(tab: Tab) {
        for (index in 0 until items.childCount) {
            val item: View = items.getChildAt(index)
            item.isSelected = item.id == tab.id
        }
    }

    private companion object {
        const val SIDE_WIDTH = 88f
    }
}
