package org.tetraphone.demo.ui

import android.content.Context
import android.view.View
import android.view.ViewGroup
import org.tetraphone.demo.R
import kotlin.math.max

/** Places children in lines, in reading direction, as text; [even]: in columns of one width, as a table. */
internal class FlowLayout(context: Context, private val even: Boolean = false) : ViewGroup(context) {
    private val gap = context.size(R.dimen.gap)

    private class Line(val children: MutableList<View> = mutableListOf(), var width: Int = 0, var height: Int = 0)

    override fun onMeasure(widthSpec: Int, heightSpec: Int) {
        val room = when (MeasureSpec.getMode(widthSpec)) {
            MeasureSpec.UNSPECIFIED -> Int.MAX_VALUE / 2
            else -> MeasureSpec.getSize(widthSpec)
        }
        val most = MeasureSpec.makeMeasureSpec(room, MeasureSpec.AT_MOST)
        val free = MeasureSpec.makeMeasureSpec(0, MeasureSpec.UNSPECIFIED)
        for (child in shown()) child.measure(most, free)
        if (even) evenOut(room, free)
        val lines = lines(room)
        val height = lines.sumOf { it.height } + gap * max(0, lines.size - 1)
        setMeasuredDimension(
            resolveSize(lines.maxOfOrNull { it.width } ?: 0, widthSpec),
            resolveSize(height, heightSpec),
        )
    }

    private fun evenOut(room: Int, free: Int) {
        val widest = shown().maxOfOrNull { it.measuredWidth } ?: return
        val columns = ((room + gap) / (widest + gap)).coerceIn(1, shown().size)
        val width = MeasureSpec.makeMeasureSpec((room + gap) / columns - gap, MeasureSpec.EXACTLY)
        for (child in shown()) child.measure(width, free)
    }

    override fun onLayout(changed: Boolean, left: Int, top: Int, right: Int, bottom: Int) {
        val backwards = layoutDirection == LAYOUT_DIRECTION_RTL
        var y = 0
        for (line in lines(width)) {
            var x = 0
            for (child in line.children) {
                val start = if (backwards) width - x - child.measuredWidth else x
                val down = y + (line.height - child.measuredHeight) / 2
                child.layout(start, down, start + child.measuredWidth, down + child.measuredHeight)
                x += child.measuredWidth + gap
            }
            y += line.height + gap
        }
    }

    private fun lines(room: Int): List<Line> {
        val lines = mutableListOf<Line>()
        for (child in shown()) {
            val last = lines.lastOrNull()
            val line = last?.takeIf { it.width + gap + child.measuredWidth <= room } ?: Line().also { lines += it }
            line.width += child.measuredWidth + if (line.children.isEmpty()) 0 else gap
            line.height = max(line.height, child.measuredHeight)
            line.children += child
        }
        return lines
    }

    private fun shown() = (0 until childCount).map(::getChildAt).filter { it.visibility != View.GONE }
}
