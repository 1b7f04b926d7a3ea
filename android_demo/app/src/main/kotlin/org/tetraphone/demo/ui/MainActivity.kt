package org.tetraphone.demo.ui

import android.app.Activity
import android.app.AlertDialog
import android.content.ActivityNotFoundException
import android.content.ClipData
import android.content.Context
import android.content.Intent
import android.net.Uri
import android.os.Build
import android.os.Bundle
import android.os.Parcelable
import android.provider.Settings
import android.util.SparseArray
import android.view.View
import android.view.ViewGroup.LayoutParams.MATCH_PARENT
import android.view.ViewGroup.LayoutParams.WRAP_CONTENT
import android.view.WindowInsets
import android.widget.FrameLayout
import android.widget.LinearLayout
import android.widget.Toast
import org.tetraphone.demo.DemoApplication
import org.tetraphone.demo.Engine
import org.tetraphone.demo.Export
import org.tetraphone.demo.MicrophoneState
import org.tetraphone.demo.R
import org.tetraphone.demo.UiState
import org.tetraphone.demo.ui.NavigationBar.Tab

/** The one screen: five places, and a bar to go from one to another. */
class MainActivity :
    Activity(),
    Host {
    private val engine: Engine get() = (application as DemoApplication).engine
    private val settings by lazy { getSharedPreferences("settings", Context.MODE_PRIVATE) }
    private val microphone by lazy { MicrophonePermission(this) }
    private val places = mutableMapOf<Tab, Place>()
    private val side by lazy { resources.getBoolean(R.bool.side_bar) }
    private lateinit var bar: NavigationBar
    private lateinit var content: LinearLayout
    private lateinit var error: ErrorBanner
    private lateinit var strip: MicrophoneStrip
    private lateinit var frame: FrameLayout
    private lateinit var tab: Tab
    private lateinit var shown: UiState
    private var purpose: Purpose? = null
    private var question: Question? = null
    private var dialog: AlertDialog? = null
    private var saving: Export? = null

    /** Tests close it, to show states of their own. */
    internal var observation: AutoCloseable? = null

    override fun onCreate(saved: Bundle?) {
        super.onCreate(saved)
        shown = engine.state
        buildScreen()
        purpose = saved?.getString(PURPOSE)?.let(Purpose::valueOf)
        go(saved?.getString(TAB)?.let(Tab::valueOf) ?: Tab.LISTEN)
        if (saved == null) receive(intent) else restore(saved)
        saved?.getString(QUESTION)?.let { ask(Question.valueOf(it)) }
    }

    private fun buildScreen() {
        error = ErrorBanner(this) { engine.dismissError() }
        strip = MicrophoneStrip(this) { engine.stop() }
        frame = FrameLayout(this)
        bar = NavigationBar(this, side, ::go)
        content = LinearLayout(this)
        content.orientation = LinearLayout.VERTICAL
        val gap = size(R.dimen.gap)
        for (view in listOf(error, strip)) {
            val around = LinearLayout.LayoutParams(MATCH_PARENT, WRAP_CONTENT)
            content.addView(view, around.apply { setMargins(gap, gap, gap, 0) })
        }
        content.addView(frame, LinearLayout.LayoutParams(MATCH_PARENT, 0, 1f))
        val root = LinearLayout(this)
        root.orientation = if (side) LinearLayout.HORIZONTAL else LinearLayout.VERTICAL
        if (side) root.addView(bar, LinearLayout.LayoutParams(WRAP_CONTENT, MATCH_PARENT))
        root.addView(
            content,
            LinearLayout.LayoutParams(if (side) 0 else MATCH_PARENT, if (side) MATCH_PARENT else 0, 1f),
        )
        if (!side) root.addView(bar, LinearLayout.LayoutParams(MATCH_PARENT, WRAP_CONTENT))
        root.setOnApplyWindowInsetsListener { _, insets -> insets.also(::keepClear) }
        setContentView(root)
    }

    /** Of system bars and cutouts: what is drawn over the window's edges. */
    private fun keepClear(insets: WindowInsets) {
        val (left, top, right, bottom) = edges(insets)
        val barAtLeft = bar.resources.configuration.layoutDirection == View.LAYOUT_DIRECTION_LTR
        if (side) {
            bar.setPadding(if (barAtLeft) left else 0, top, if (barAtLeft) 0 else right, bottom)
            content.setPadding(if (barAtLeft) 0 else left, top, if (barAtLeft) right else 0, bottom)
        } else {
            bar.setPadding(left, 0, right, bottom)
            content.setPadding(left, top, right, 0)
        }
    }

    @Suppress("DEPRECATION")
    private fun edges(insets: WindowInsets): List<Int> = if (Build.VERSION.SDK_INT >= Build.VERSION_CODES.R) {
        val types = WindowInsets.Type.systemBars() or WindowInsets.Type.displayCutout()
        insets.getInsets(types).run { listOf(left, top, right, bottom) }
    } else {
        insets.run {
            listOf(systemWindowInsetLeft, systemWindowInsetTop, systemWindowInsetRight, systemWindowInsetBottom)
        }
    }

    internal fun go(to: Tab) {
        tab = to
        bar.select(to)
        val place = places.getOrPut(to) { build(to) }
        if (frame.getChildAt(0) !== place) {
            frame.removeAllViews()
            frame.addView(place)
        }
        place.show(shown)
        showStrip()
    }

    /** Where the place itself does not show that the microphone is on. */
    private fun showStrip() {
        val on = shown.microphone == MicrophoneState.LISTENING || shown.microphone == MicrophoneState.SILENCED
        strip.showIf(on && tab != if (shown.practise?.listening == true) Tab.PRACTISE else Tab.LISTEN)
    }

    private fun build(tab: Tab) = when (tab) {
        Tab.LISTEN -> ListenView(this, engine, this)
        Tab.RECORDINGS -> RecordingsView(this, engine, this)
        Tab.PRACTISE -> PractiseView(this, engine, this)
        Tab.MEASURE -> MeasureView(this, engine, this)
        Tab.ABOUT -> AboutView(this, this)
    }

    internal fun show(state: UiState) {
        val withdrawn = state.microphone == MicrophoneState.NO_PERMISSION && shown.microphone != state.microphone
        shown = state
        if (withdrawn) permission = microphone.state
        error.show(state.error)
        showStrip()
        places.getValue(tab).show(state)
    }

    override fun onStart() {
        super.onStart()
        engine.comeBack()
        observation = engine.observe(::show)
    }

    override fun onResume() {
        super.onResume()
        permission = microphone.state // it may have changed in the settings
        show(shown)
    }

    override fun onStop() {
        observation?.close()
        if (!isChangingConfigurations) engine.leave()
        super.onStop()
    }

    override fun onDestroy() {
        dialog?.setOnDismissListener(null)
        dialog?.dismiss()
        super.onDestroy()
    }

    override fun onSaveInstanceState(state: Bundle) {
        super.onSaveInstanceState(state)
        state.putString(TAB, tab.name)
        state.putString(PURPOSE, purpose?.name)
        state.putString(QUESTION, question?.name)
        state.putString(WORD, shown.practise?.word?.text)
        state.putParcelable(RECORDING, shown.recording?.uri)
        state.putBundle(SCROLLS, Bundle().also { scrolls -> for ((tab, place) in places) scrolls.put(tab, place) })
    }

    private fun Bundle.put(tab: Tab, place: Place) =
        putSparseParcelableArray(tab.name, SparseArray<Parcelable>().also(place::saveHierarchyState))

    /** After rotation the engine still has word and recording; after the end of the process they are taken up again. */
    @Suppress("DEPRECATION")
    private fun restore(saved: Bundle) {
        val recording = saved.getParcelable<Uri>(RECORDING)
        if (engine.state.recording == null && recording != null) engine.openRecording(recording)
        val word = engine.words.find { it.text == saved.getString(WORD) }
        if (engine.state.practise == null && word != null) engine.practise(word)
        val scrolls = saved.getBundle(SCROLLS) ?: return
        for (tab in Tab.values()) {
            val states = scrolls.getSparseParcelableArray<Parcelable>(tab.name) ?: continue
            places.getOrPut(tab) { build(tab) }.restoreHierarchyState(states)
        }
    }

    override fun onNewIntent(intent: Intent) {
        super.onNewIntent(intent)
        receive(intent)
    }

    /** A recording that another app shares or shows; not once more when the app is opened among the recent ones. */
    @Suppress("DEPRECATION")
    private fun receive(intent: Intent) {
        if (intent.flags and Intent.FLAG_ACTIVITY_LAUNCHED_FROM_HISTORY != 0) return
        val uri = when (intent.action) {
            Intent.ACTION_SEND -> intent.getParcelableExtra<Parcelable>(Intent.EXTRA_STREAM) as? Uri
            Intent.ACTION_VIEW -> intent.data
            else -> return
        }
        go(Tab.RECORDINGS)
        if (uri == null) toast(R.string.not_audio) else engine.openRecording(uri)
    }

    /** Looked up when it may have changed, not for each state. */
    override var permission = Permission.UNASKED
        private set

    override var ipa: Boolean
        get() = settings.getBoolean(IPA, true)
        set(value) = keep(IPA, value, ipa)

    override var figuresOpen: Boolean
        get() = settings.getBoolean(FIGURES, false)
        set(value) = keep(FIGURES, value, figuresOpen)

    private fun keep(name: String, value: Boolean, before: Boolean) {
        if (value == before) return
        settings.edit().putBoolean(name, value).apply()
        show(shown)
    }

    override fun withMicrophone(purpose: Purpose) {
        this.purpose = purpose
        permission = microphone.state
        when (permission) {
            Permission.GRANTED -> begin()
            Permission.REFUSED_FOR_GOOD -> openSettings()
            Permission.UNASKED, Permission.REFUSED -> microphone.ask()
        }
    }

    private fun begin() {
        when (purpose) {
            Purpose.LISTEN -> engine.listen()
            Purpose.PRACTISE -> engine.startPractise()
            null -> Unit
        }
        purpose = null
    }

    override fun onRequestPermissionsResult(request: Int, permissions: Array<out String>, results: IntArray) {
        if (results.isEmpty()) return // cancelled, since another request is open
        permission = microphone.state
        if (permission == Permission.GRANTED) begin()
        purpose = null
        show(shown)
    }

    override fun openSettings() {
        val app = Uri.fromParts("package", packageName, null)
        start(Intent(Settings.ACTION_APPLICATION_DETAILS_SETTINGS, app))
    }

    override fun pickModel() = pick(MODEL, "*/*")

    override fun pickRecording() = pick(AUDIO, "audio/*", "video/*", "application/ogg")

    private fun pick(request: Int, vararg types: String) {
        val intent = Intent(Intent.ACTION_OPEN_DOCUMENT).addCategory(Intent.CATEGORY_OPENABLE)
        intent.type = types.singleOrNull() ?: "*/*"
        start(intent.putExtra(Intent.EXTRA_MIME_TYPES, types), request)
    }

    /** Another app's screen, where there is one for it. */
    private fun start(intent: Intent, request: Int = -1) {
        try {
            startActivityForResult(intent, request)
        } catch (_: ActivityNotFoundException) {
            toast(R.string.no_app)
        }
    }

    override fun ask(question: Question) {
        val fresh = dialog(this, question, engine, this) ?: return
        val before = dialog
        this.question = question
        dialog = fresh
        before?.dismiss()
        fresh.setOnDismissListener {
            if (dialog !== fresh) return@setOnDismissListener
            this.question = null
            dialog = null
        }
        fresh.show()
    }

    override fun onActivityResult(request: Int, result: Int, data: Intent?) {
        val uri = data?.data?.takeIf { result == RESULT_OK } ?: return
        if (request == MODEL) engine.importModel(uri)
        if (request == SAVE) saving?.let { engine.save(it, uri) } ?: toast(R.string.not_saved_again)
        if (request == AUDIO) {
            remember(uri)
            engine.openRecording(uri)
        }
    }

    /** So that it can be opened again after the end of the process, where its owner allows it. */
    private fun remember(uri: Uri) {
        try {
            contentResolver.takePersistableUriPermission(uri, Intent.FLAG_GRANT_READ_URI_PERMISSION)
        } catch (_: SecurityException) {
            return
        }
    }

    override fun share(export: Export) = engine.lend(export) { uri ->
        val intent = Intent(Intent.ACTION_SEND).setType(export.type).putExtra(Intent.EXTRA_STREAM, uri)
        intent.clipData = ClipData.newRawUri(export.name, uri) // carries the leave to read it
        intent.addFlags(Intent.FLAG_GRANT_READ_URI_PERMISSION)
        start(Intent.createChooser(intent, getString(R.string.share)))
    }

    override fun save(export: Export) {
        saving = export
        val intent = Intent(Intent.ACTION_CREATE_DOCUMENT).addCategory(Intent.CATEGORY_OPENABLE)
        start(intent.setType(export.type).putExtra(Intent.EXTRA_TITLE, export.name), SAVE)
    }

    override fun browse(address: Int) = start(Intent(Intent.ACTION_VIEW, Uri.parse(getString(address))))

    private fun toast(message: Int) = Toast.makeText(this, message, Toast.LENGTH_LONG).show()

    private companion object {
        const val MODEL = 2
        const val AUDIO = 3
        const val SAVE = 4
        const val TAB = "tab"
        const val PURPOSE = "purpose"
        const val WORD = "word"
        const val RECORDING = "recording"
        const val SCROLLS = "scrolls"
        const val IPA = "ipa"
        const val FIGURES = "figures"
        const val QUESTION = "question"
    }
}
