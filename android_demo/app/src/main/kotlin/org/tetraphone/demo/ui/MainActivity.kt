package org.tetraphone.demo.ui

import android.app.Activity
import android.content.ActivityNotFoundException
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
    private lateinit var frame: FrameLayout
    private lateinit var tab: Tab
    private lateinit var shown: UiState
    private var purpose: Purpose? = null

    /** Tests close it, to show states of their own. */
    internal var observation: AutoCloseable? = null

    override fun onCreate(saved: Bundle?) {
        super.onCreate(saved)
        shown = engine.state
        buildScreen()
        purpose = saved?.getString(PURPOSE)?.let(Purpose::valueOf)
        go(saved?.getString(TAB)?.let(Tab::valueOf) ?: Tab.LISTEN)
        if (saved == null) receive(intent) else restore(saved)
    }

    private fun buildScreen() {
        error = ErrorBanner(this) { engine.dismissError() }
        frame = FrameLayout(this)
        bar = NavigationBar(this, side, ::go)
        content = LinearLayout(this)
        content.orientation = LinearLayout.VERTICAL
        val around = LinearLayout.LayoutParams(MATCH_PARENT, WRAP_CONTENT)
        val gap = size(R.dimen.gap)
        content.addView(error, around.apply { setMargins(gap, gap, gap, 0) })
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
    }

    private fun build(tab: Tab) = when (tab) {
        Tab.LISTEN -> ListenView(this, engine, this)
        Tab.RECORDINGS -> RecordingsView(this, engine, this)
        Tab.PRACTISE -> PractiseView(this, engine, this)
        Tab.MEASURE -> MeasureView(this, engine, this)
        Tab.ABOUT -> AboutView(this)
    }

    internal fun show(state: UiState) {
        shown = state
        error.show(state.error)
        places.getValue(tab).show(state)
    }

    override fun onStart() {
        super.onStart()
        engine.comeBack()
        observation = engine.observe(::show)
    }

    override fun onResume() {
        super.onResume()
        show(shown) // the permission may have changed in the settings
    }

    override fun onStop() {
        observation?.close()
        if (!isChangingConfigurations) engine.leave()
        super.onStop()
    }

    override fun onSaveInstanceState(state: Bundle) {
        super.onSaveInstanceState(state)
        state.putString(TAB, tab.name)
        state.putString(PURPOSE, purpose?.name)
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

    /** A recording that another app shares. */
    @Suppress("DEPRECATION")
    private fun receive(intent: Intent) {
        if (intent.action != Intent.ACTION_SEND) return
        go(Tab.RECORDINGS)
        val uri = intent.getParcelableExtra<Parcelable>(Intent.EXTRA_STREAM) as? Uri
        if (uri == null) toast(R.string.not_audio) else engine.openRecording(uri)
    }

    override val permission: Permission get() = microphone.state

    override var ipa: Boolean
        get() = settings.getBoolean(IPA, false)
        set(value) {
            if (value == ipa) return
            settings.edit().putBoolean(IPA, value).apply()
            show(shown)
        }

    override fun withMicrophone(purpose: Purpose) {
        this.purpose = purpose
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
        if (permission == Permission.GRANTED) begin()
        purpose = null
        show(shown)
    }

    override fun openSettings() {
        val app = Uri.fromParts("package", packageName, null)
        startActivity(Intent(Settings.ACTION_APPLICATION_DETAILS_SETTINGS, app))
    }

    override fun pickModel() = pick(MODEL, "*/*")

    override fun pickRecording() = pick(AUDIO, "audio/*", "video/*", "application/ogg")

    private fun pick(request: Int, vararg types: String) {
        val intent = Intent(Intent.ACTION_OPEN_DOCUMENT).addCategory(Intent.CATEGORY_OPENABLE)
        intent.type = types.singleOrNull() ?: "*/*"
        intent.putExtra(Intent.EXTRA_MIME_TYPES, types)
        try {
            startActivityForResult(intent, request)
        } catch (_: ActivityNotFoundException) {
            toast(R.string.no_picker)
        }
    }

    override fun onActivityResult(request: Int, result: Int, data: Intent?) {
        val uri = data?.data?.takeIf { result == RESULT_OK } ?: return
        if (request == MODEL) engine.importModel(uri)
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

    override fun share(content: String, type: String) {
        val intent = Intent(Intent.ACTION_SEND).setType(type).putExtra(Intent.EXTRA_TEXT, content)
        startActivity(Intent.createChooser(intent, getString(R.string.share)))
    }

    private fun toast(message: Int) = Toast.makeText(this, message, Toast.LENGTH_LONG).show()

    private companion object {
        const val MODEL = 2
        const val AUDIO = 3
        const val TAB = "tab"
        const val PURPOSE = "purpose"
        const val WORD = "word"
        const val RECORDING = "recording"
        const val SCROLLS = "scrolls"
        const val IPA = "ipa"
    }
}
