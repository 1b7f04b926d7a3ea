package org.tetraphone.demo.ui

import android.content.Context
import android.graphics.Canvas
import android.graphics.Color
import android.graphics.Paint
import android.graphics.Path
import android.graphics.RectF
import android.graphics.Typeface
import android.os.SystemClock
import android.view.MotionEvent
import android.view.View
import org.tetraphone.PhonemeRecognizer.Phone
import org.tetraphone.demo.R
import org.tetraphone.demo.Sound
import kotlin.math.ceil
import kotlin.math.floor
import kotlin.math.max
import kotlin.math.min

/**
 * Log-mel energies over time, and beneath them the phones at their times, fainter where less certain. Live, the newest
 * sound is at the right, and all moves at the rate of the display; [whole], the view is as wide as the recording, and
 * stands in a horizontal scroll view. Time runs from left to right in every language.
 */
internal class SpectrogramView(context: Context, private val whole: Boolean = false) : View(context) {
    private val perSecond = context.dp(PER_SECOND) * max(1f, resources.configuration.fontScale)
    private val labels = Paint(Paint.ANTI_ALIAS_FLAG).apply { textSize = context.sp(18f) }
    private val ticks = Paint(Paint.ANTI_ALIAS_FLAG).apply {
        textSize = context.sp(12f)
        color = Color.WHITE
        setShadowLayer(context.dp(2f).toFloat(), 0f, 0f, Color.BLACK) // over light and dark sound
    }
    private val bars = Paint(Paint.ANTI_ALIAS_FLAG)
    private val strong = context.getColor(R.color.text)
    private val faint = context.getColor(R.color.text_faint)
    private val accent = context.getColor(R.color.accent)
    private val onAccent = context.getColor(R.color.on_accent)
    private val surface = context.getColor(R.color.surface)
    private val lineHeight = labels.fontSpacing
    private val barHeight = context.dp(4f)
    private val gap = context.dp(3f)
    private val corner = context.size(R.dimen.corner).toFloat()
    private val box = RectF()
    private val path = Path()

    private var sound = Sound()
    private var bitmap: SpectrogramBitmap? = null
    private var position: Double? = null
    private var moving = false
    private var head = 0.0
    private var drawnAt = 0L
    private var shownAt = 0L

    var ipa = false
        set(value) {
            if (field != value) invalidate()
            field = value
        }

    /** Called with the seconds at which the view was tapped. */
    var onTap: ((Double) -> Unit)? = null
        set(value) {
            field = value
            isClickable = value != null
        }
    private var touched = 0f

    /** One written phone, for drawing and for tests. */
    class Label(val text: String, val phone: Phone, val box: RectF, val lit: Boolean)

    init {
        contentDescription = context.getString(R.string.spectrogram)
        if (!whole) setBackgroundResource(R.drawable.card)
        layoutDirection = LAYOUT_DIRECTION_LTR
        minimumHeight = context.size(R.dimen.spectrogram_min) + labelsHeight().toInt()
    }

    /** [moves]: more sound is coming. [position]: what is being played, in seconds. */
    fun show(sound: Sound, moves: Boolean, position: Double? = null) {
        if (sound.bands !== this.sound.bands) bitmap = null
        if (bitmap == null && sound.bands.bands > 0) bitmap = SpectrogramBitmap(sound.bands)
        val longer = sound.seconds != this.sound.seconds
        if (!moves || !moving || sound.seconds < head) head = end(sound)
        this.sound = sound
        this.position = position
        moving = moves
        shownAt = SystemClock.uptimeMillis()
        if (whole && longer) requestLayout()
        invalidate()
    }

    override fun onTouchEvent(event: MotionEvent): Boolean {
        if (event.action == MotionEvent.ACTION_DOWN) touched = event.x
        return super.onTouchEvent(event)
    }

    /** By touch, and by TalkBack's double tap, which is at the view's middle. */
    override fun performClick(): Boolean {
        onTap?.invoke(time(touched).coerceIn(0.0, sound.seconds))
        return super.performClick()
    }

    fun x(time: Double): Float =
        if (whole) (time * perSecond).toFloat() else (width - (head - time) * perSecond).toFloat()

    override fun onMeasure(widthSpec: Int, heightSpec: Int) {
        super.onMeasure(widthSpec, heightSpec)
        if (whole) setMeasuredDimension(max(suggestedMinimumWidth, (sound.seconds * perSecond).toInt()), measuredHeight)
    }

    override fun onDraw(canvas: Canvas) {
        move()
        val (left, right) = visible()
        val bottom = height - labelsHeight()
        canvas.save()
        canvas.clipPath(card(left, right))
        bars.color = SILENCE
        canvas.drawRect(left, 0f, right, bottom, bars)
        drawFrames(canvas, left, right, bottom)
        drawBars(canvas, left, right, bottom)
        drawSeconds(canvas, left, right)
        for (label in labels()) draw(canvas, label)
        position?.let {
            bars.color = Color.WHITE
            canvas.drawRect(x(it) - gap / 2, 0f, x(it) + gap / 2, bottom, bars)
        }
        canvas.restore()
        if (moving && SystemClock.uptimeMillis() - shownAt < 1000) postInvalidateOnAnimation()
    }

    /** The head follows the newest sound evenly, though sound comes in pieces. */
    private fun move() {
        val now = SystemClock.uptimeMillis()
        val passed = min(0.1, (now - drawnAt) / 1000.0)
        drawnAt = now
        if (!moving) return
        val newest = end(sound)
        val behind = newest - PIECE - head
        head = if (behind > 1) newest else min(newest, head + max(0.0, passed + 0.1 * behind))
    }

    private fun end(sound: Sound) = max(sound.frames * sound.bands.hop, sound.phones.lastOrNull()?.end ?: 0.0)

    /** The inside of the card that the view lies on. */
    private fun card(left: Float, right: Float): Path {
        val edge = context.dp(1f)
        box.set(left + edge, edge.toFloat(), right - edge, height - edge.toFloat())
        path.rewind()
        path.addRoundRect(box, corner, corner, Path.Direction.CW)
        return path
    }

    private fun visible(): Pair<Float, Float> {
        val window = (parent as? View)?.takeIf { whole } ?: return 0f to width.toFloat()
        return window.scrollX.toFloat() to min(width, window.scrollX + window.width).toFloat()
    }

    private fun time(x: Float): Double = if (whole) x / perSecond.toDouble() else head - (width - x) / perSecond

    private fun drawFrames(canvas: Canvas, left: Float, right: Float, bottom: Float) {
        val bitmap = bitmap ?: return
        val hop = sound.bands.hop
        val start = max(sound.bands.first, floor(time(left) / hop).toInt())
        val stop = min(sound.frames, ceil(time(right) / hop).toInt())
        if (start < stop) bitmap.draw(canvas, start, stop, x(start * hop), (hop * perSecond).toFloat(), 0f, bottom)
    }

    /** A line at each second, with its number. */
    private fun drawSeconds(canvas: Canvas, left: Float, right: Float) {
        for (second in max(0.0, ceil(time(left))).toInt()..floor(time(right)).toInt()) {
            val at = x(second.toDouble())
            bars.color = Color.argb(0x80, 0xFF, 0xFF, 0xFF)
            canvas.drawRect(at, 0f, at + 1, ticks.fontSpacing, bars)
            canvas.drawText(context.getString(R.string.seconds, "$second"), at + gap, -ticks.ascent(), ticks)
        }
    }

    private fun drawBars(canvas: Canvas, left: Float, right: Float, top: Float) {
        for (phone in sound.phones) {
            val (start, end) = x(phone.start) to x(phone.end)
            if (end < left || start > right) continue
            bars.color = blend(surface, accent, 0.35f + 0.65f * phone.confidence.toFloat())
            box.set(start, top + gap, max(start + 1, end - gap / 2), top + gap + barHeight)
            canvas.drawRoundRect(box, barHeight / 2f, barHeight / 2f, bars)
        }
    }

    private fun draw(canvas: Canvas, label: Label) {
        if (label.lit) {
            bars.color = accent
            canvas.drawRoundRect(label.box, gap.toFloat(), gap.toFloat(), bars)
        }
        dress(label.lit)
        labels.color = if (label.lit) onAccent else blend(faint, strong, label.phone.confidence.toFloat())
        canvas.drawText(label.text, label.box.left + gap, label.box.top - labels.ascent(), labels)
    }

    private fun dress(lit: Boolean) {
        labels.typeface = if (lit) Typeface.DEFAULT_BOLD else Typeface.DEFAULT
    }

    private fun labelsHeight() = LANES * lineHeight + barHeight + 3 * gap

    /** Phones in view, each on the next lane, pushed to the right where short ones crowd. */
    fun labels(): List<Label> {
        val (left, right) = visible()
        val top = height - labelsHeight() + barHeight + 2 * gap
        val ends = FloatArray(LANES) { if (whole) gap.toFloat() else Float.NEGATIVE_INFINITY }
        val found = mutableListOf<Label>()
        for ((index, phone) in sound.phones.withIndex()) {
            if (x(phone.end) < left - perSecond || x(phone.start) > right) continue
            val lit = position?.let { it >= phone.start && it < phone.end } ?: false
            dress(lit)
            val lane = (sound.forgotten + index) % LANES
            val text = Symbols.write(phone.symbol, ipa)
            val width = labels.measureText(text) + 2 * gap
            val start = max(ends[lane], (x(phone.start) + x(phone.end) - width) / 2)
            ends[lane] = start + width
            val box = RectF(start, top + lane * lineHeight, start + width, top + (lane + 1) * lineHeight)
            if (box.left >= left && box.left < right) found += Label(text, phone, box, lit)
        }
        return found
    }

    private companion object {
        const val PER_SECOND = 160f
        const val LANES = 2

        /** Seconds of sound that come at once, at most. */
        const val PIECE = 0.1
        val SILENCE = ColourMap.colour(0f)
    }
}
