package org.tetraphone.demo.ui

import android.graphics.Bitmap
import android.graphics.Canvas
import android.graphics.Paint
import android.graphics.Rect
import android.graphics.RectF
import org.tetraphone.demo.BandHistory
import kotlin.math.max
import kotlin.math.min

/** A ring of columns, one a frame, each painted once as long as it is in view. */
internal class SpectrogramBitmap(private val history: BandHistory) {
    private val bitmap = Bitmap.createBitmap(COLUMNS, history.bands, Bitmap.Config.ARGB_8888)
    private val values = FloatArray(history.bands)
    private val colours = IntArray(history.bands)
    private val paint = Paint(Paint.FILTER_BITMAP_FLAG)
    private val from = Rect()
    private val to = RectF()

    /** Frames that are painted: [first, end). */
    private var first = 0
    private var end = 0

    /** Draws frames [start, stop) from [x] on, each [step] wide. */
    fun draw(canvas: Canvas, start: Int, stop: Int, x: Float, step: Float, top: Float, bottom: Float) {
        val begin = max(start, stop - COLUMNS)
        paintUpTo(begin, stop)
        var frame = begin
        while (frame < stop) {
            val column = frame % COLUMNS
            val count = min(stop - frame, COLUMNS - column)
            from.set(column, 0, column + count, history.bands)
            val left = x + (frame - start) * step
            to.set(left, top, left + count * step, bottom)
            canvas.drawBitmap(bitmap, from, to, paint)
            frame += count
        }
    }

    private fun paintUpTo(start: Int, stop: Int) {
        if (start < first || start > end) {
            first = start
            end = start
        }
        while (end < stop) paintColumn(end++)
        first = max(first, end - COLUMNS)
    }

    private fun paintColumn(frame: Int) {
        if (history.copy(frame, values)) {
            for (band in values.indices) {
                colours[values.size - 1 - band] = ColourMap.colour(values[band] / RANGE + 1)
            }
        } else {
            colours.fill(0)
        }
        bitmap.setPixels(colours, 0, 1, frame % COLUMNS, 0, 1, colours.size)
    }

    private companion object {
        /** Some 20 seconds: more than the widest screen shows. */
        const val COLUMNS = 2048

        /** Nepers of power: what is so far below the loudest is black. */
        const val RANGE = 11f
    }
}
