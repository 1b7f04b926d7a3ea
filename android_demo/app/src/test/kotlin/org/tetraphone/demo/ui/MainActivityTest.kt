package org.tetraphone.demo.ui

import android.Manifest
import android.content.Intent
import android.content.pm.PackageManager
import android.net.Uri
import android.os.Bundle
import android.provider.Settings
import android.view.View
import android.widget.Button
import android.widget.ScrollView
import android.widget.TextView
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertNotNull
import org.junit.Assert.assertNotSame
import org.junit.Assert.assertNull
import org.junit.Assert.assertSame
import org.junit.Assert.assertTrue
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.RuntimeEnvironment
import org.robolectric.Shadows.shadowOf
import org.robolectric.annotation.Config
import org.robolectric.shadows.ShadowAlertDialog
import org.robolectric.shadows.ShadowAudioRecord
import org.tetraphone.PhonemeRecognizer
import org.tetraphone.demo.MicrophoneState
import org.tetraphone.demo.R
import org.tetraphone.demo.Runner
import org.tetraphone.demo.UiState
import org.tetraphone.demo.ui.NavigationBar.Tab

@RunWith(Runner::class)
@Config(sdk = [34, 35])
class MainActivityTest {
    private val app = RuntimeEnvironment.getApplication()

    @Test
    fun asksForTheMicrophoneAtTheFirstListen() = Screen().use { screen ->
        assertTrue(screen.sees(R.string.reason_microphone))
        assertNull(shadowOf(screen.activity).lastRequestedPermission)
        screen.press(R.id.primary)
        val request = shadowOf(screen.activity).lastRequestedPermission
        assertEquals(listOf(MICROPHONE), request.requestedPermissions.toList())
        assertEquals(MicrophoneState.OFF, screen.engine.state.microphone)
    }

    @Test
    fun refusedSaysSoAndOffersAgain() = Screen().use { screen ->
        screen.press(R.id.primary)
        answer(screen, granted = false, again = true)
        assertTrue(screen.sees(R.string.microphone_refused))
        assertTrue(screen.sees(R.string.ask_again))
        screen.press(R.id.notice_button)
        answer(screen, granted = true)
        assertFalse(screen.find<View>(R.id.notice).isShown)
        screen.waitFor("listening") { screen.engine.state.microphone == MicrophoneState.LISTENING }
    }

    @Test
    fun refusedForGoodOffersSettingsAndRecordings() = Screen().use { screen ->
        screen.press(R.id.primary)
        answer(screen, granted = false, again = true)
        screen.press(R.id.primary)
        answer(screen, granted = false)
        assertTrue(screen.sees(R.string.microphone_refused_for_good))
        screen.press(R.id.notice_button)
        val settings = shadowOf(screen.activity).nextStartedActivity
        assertEquals(Settings.ACTION_APPLICATION_DETAILS_SETTINGS, settings.action)
        assertEquals("package:${app.packageName}", settings.dataString)

        shadowOf(app).grantPermissions(MICROPHONE)
        screen.controller.pause().resume()
        assertFalse(screen.find<View>(R.id.notice).isShown)

        shadowOf(app).denyPermissions(MICROPHONE)
        screen.press(R.id.recordings)
        screen.press(R.id.primary)
        assertEquals(Intent.ACTION_OPEN_DOCUMENT, shadowOf(screen.activity).nextStartedActivityForResult.intent.action)
    }

    @Test
    fun aQuestionLeftUnansweredIsNoRefusal() = Screen().use { screen ->
        screen.press(R.id.primary)
        screen.activity.onRequestPermissionsResult(MicrophonePermission.REQUEST, emptyArray(), IntArray(0))
        assertTrue(screen.sees(R.string.reason_microphone))
        assertEquals(Permission.UNASKED, screen.activity.permission)
    }

    @Test
    fun grantedListensAtOnce() {
        shadowOf(app).grantPermissions(MICROPHONE)
        Screen().use { screen ->
            assertFalse(screen.find<View>(R.id.notice).isShown)
            listen(screen)
            assertTrue(screen.sees(R.string.stop_listening))
            screen.press(R.id.primary)
            screen.waitFor("the end") { screen.engine.state.microphone == MicrophoneState.OFF }
            assertTrue(screen.sees(R.string.start_listening))
        }
    }

    @Test
    fun practiseListensForOneWord() {
        shadowOf(app).grantPermissions(MICROPHONE)
        ShadowAudioRecord.setSourceProvider { Noise() }
        Screen().use { screen ->
            screen.waitFor("a model") { screen.engine.state.model != null }
            screen.press(R.id.practise)
            assertTrue(screen.sees(R.string.choose_word))
            val word = screen.engine.words.first()
            val chip = screen.views().filterIsInstance<Button>().first { it.text == word.text }
            chip.performClick()
            screen.waitFor("the word") { screen.engine.state.practise?.word == word && chip.isSelected }
            screen.press(R.id.primary)
            screen.waitFor("practice") { screen.engine.state.practise?.listening == true }
            assertTrue(screen.sees(R.string.saying))
            screen.press(R.id.primary)
            screen.waitFor("the end") { screen.engine.state.practise?.listening == false }
        }
    }

    @Test
    fun otherPlacesShowThatTheMicrophoneIsOn() {
        shadowOf(app).grantPermissions(MICROPHONE)
        ShadowAudioRecord.setSourceProvider { Noise() }
        Screen().use { screen ->
            listen(screen)
            assertFalse(screen.find<View>(R.id.microphone_on).isShown)
            for (place in listOf(R.id.recordings, R.id.practise, R.id.measure, R.id.about)) {
                screen.press(place)
                assertTrue(screen.find<View>(R.id.microphone_on).isShown)
            }
            screen.press(R.id.stop_listening)
            screen.waitFor("the end") { !screen.find<View>(R.id.microphone_on).isShown }
            assertEquals(MicrophoneState.OFF, screen.engine.state.microphone)
        }
    }

    @Test
    fun aScreenReaderIsSilentWhileTheMicrophoneIsOpen() = Screen().use { screen ->
        val heard = { screen.find<View>(R.id.heard).accessibilityLiveRegion }
        screen.show(Tab.LISTEN, States.listening)
        assertEquals(View.ACCESSIBILITY_LIVE_REGION_NONE, heard())
        screen.show(Tab.LISTEN, States.idle)
        assertEquals(View.ACCESSIBILITY_LIVE_REGION_POLITE, heard())
    }

    @Test
    fun startWaitsForAModel() = Screen().use { screen ->
        screen.show(Tab.LISTEN, UiState())
        assertFalse(screen.find<View>(R.id.primary).isEnabled)
        screen.show(Tab.LISTEN, States.idle)
        assertTrue(screen.find<View>(R.id.primary).isEnabled)
    }

    @Test
    fun thePermissionIsLookedUpOnResumeNotForEachState() {
        shadowOf(app).grantPermissions(MICROPHONE)
        Screen().use { screen ->
            shadowOf(app).denyPermissions(MICROPHONE)
            screen.show(Tab.LISTEN, States.listening)
            assertEquals(Permission.GRANTED, screen.activity.permission)
            screen.controller.pause().resume()
            assertEquals(Permission.UNASKED, screen.activity.permission)
        }
    }

    @Test
    fun questionsOutliveRotation() = Screen().use { screen ->
        screen.waitFor("models") { screen.engine.state.models.isNotEmpty() }
        screen.press(R.id.model)
        val before = ShadowAlertDialog.getLatestAlertDialog()
        assertTrue(before.isShowing)
        RuntimeEnvironment.setQualifiers("+w720dp-h360dp-land")
        screen.controller.configurationChange()
        Screen.idle()
        val after = ShadowAlertDialog.getLatestAlertDialog()
        assertNotSame(before, after)
        assertFalse(before.isShowing)
        assertTrue(after.isShowing)
        after.dismiss()
        RuntimeEnvironment.setQualifiers("+w360dp-h720dp-port")
        screen.controller.configurationChange()
        Screen.idle()
        assertSame(after, ShadowAlertDialog.getLatestAlertDialog())
    }

    @Test
    fun rotationKeepsEngineAndRecogniser() {
        shadowOf(app).grantPermissions(MICROPHONE)
        ShadowAudioRecord.setSourceProvider { Noise() }
        Screen().use { screen ->
            listen(screen)
            val engine = screen.engine
            screen.waitFor("sound") { engine.state.live.seconds > 0.5 }
            val memory = PhonemeRecognizer.nativeBytes
            repeat(20) { turn ->
                val before = screen.activity
                RuntimeEnvironment.setQualifiers(if (turn % 2 == 0) "+w720dp-h360dp-land" else "+w360dp-h720dp-port")
                screen.controller.configurationChange()
                Screen.idle()
                assertNotSame(before, screen.activity)
                assertSame(engine, screen.engine)
                assertEquals("turn $turn", MicrophoneState.LISTENING, engine.state.microphone)
                val button = screen.find<TextView>(R.id.primary)
                assertEquals(screen.activity.getString(R.string.stop_listening), button.text.toString())
            }
            val after = PhonemeRecognizer.nativeBytes
            assertTrue("$after bytes, $memory before", after < 1.5 * memory) // queues come and go
        }
    }

    @Test
    fun theBackgroundReleasesTheMicrophone() {
        shadowOf(app).grantPermissions(MICROPHONE)
        ShadowAudioRecord.setSourceProvider { Noise() }
        Screen().use { screen ->
            listen(screen)
            screen.controller.pause().stop()
            screen.waitFor("release") { screen.engine.state.microphone == MicrophoneState.OFF }
            screen.controller.restart().start().resume()
            screen.waitFor("return") { screen.engine.state.microphone == MicrophoneState.LISTENING }
        }
    }

    @Test
    fun aSharedRecordingIsOpened() {
        val uri = Uri.parse("content://elsewhere/recording.wav")
        val share = Intent(Intent.ACTION_SEND).setType("audio/wav").putExtra(Intent.EXTRA_STREAM, uri)
        val target = app.packageManager.queryIntentActivities(
            share.setPackage(app.packageName),
            PackageManager.MATCH_ALL,
        )
        assertEquals(listOf(MainActivity::class.java.name), target.map { it.activityInfo.name })
        val view = Intent(Intent.ACTION_VIEW).setDataAndType(uri, "video/mp4")
        for (intent in listOf(share, view)) {
            Screen(intent = intent).use { screen ->
                assertTrue(screen.find<View>(R.id.recordings).isSelected)
                // Nobody provides that address: the refusal shows that it was opened.
                screen.waitFor("its refusal") { screen.engine.state.error.orEmpty().startsWith("recording.wav ") }
            }
        }
        share.addFlags(Intent.FLAG_ACTIVITY_LAUNCHED_FROM_HISTORY)
        Screen(intent = share).use { screen ->
            assertTrue(screen.find<View>(R.id.listen).isSelected)
            assertNull(screen.engine.state.recording)
        }
    }

    @Test
    fun soundAndVideoCanBeSharedAndShown() {
        val uri = Uri.parse("content://elsewhere/film")
        for (type in listOf("audio/ogg", "video/mp4")) {
            for (intent in listOf(Intent(Intent.ACTION_SEND).setType(type), view(uri, type))) {
                val found = app.packageManager.queryIntentActivities(intent.setPackage(app.packageName), 0)
                assertEquals("$intent", 1, found.size)
            }
        }
    }

    private fun view(uri: Uri, type: String) = Intent(Intent.ACTION_VIEW).setDataAndType(uri, type)

    @Test
    fun anotherSharedRecordingReachesTheSameScreen() = Screen().use { screen ->
        val share = Intent(Intent.ACTION_SEND).putExtra(Intent.EXTRA_STREAM, "no address")
        screen.controller.newIntent(share)
        Screen.idle()
        assertTrue(screen.find<View>(R.id.recordings).isSelected)
        assertNull(screen.engine.state.recording)
    }

    @Test
    fun errorsStayUntilDismissed() = Screen().use { screen ->
        screen.engine.importModel(Uri.parse("content://elsewhere/weather.pte"))
        screen.waitFor("the refusal") { screen.find<View>(R.id.error).isShown }
        screen.press(R.id.recordings)
        assertTrue(screen.find<View>(R.id.error).isShown)
        screen.press(R.id.dismiss)
        screen.waitFor("dismissal") { !screen.find<View>(R.id.error).isShown }
        assertNull(screen.engine.state.error)
    }

    @Test
    fun theScreenOutlivesTheProcess() {
        val saved = Bundle()
        val word = Screen(SMALL).use { screen ->
            val word = screen.engine.words.last()
            screen.press(R.id.practise)
            screen.engine.practise(word)
            screen.waitFor("the word") { screen.sees(R.string.words) && screen.engine.state.practise?.word == word }
            screen.press(R.id.about)
            screen.find<ScrollView>(R.id.scroll).scrollTo(0, 100)
            screen.controller.saveInstanceState(saved)
            word
        }
        Screen(SMALL, saved = saved).use { screen ->
            assertTrue(screen.find<View>(R.id.about).isSelected)
            assertEquals(100, screen.find<ScrollView>(R.id.scroll).scrollY)
            screen.waitFor("the word") { screen.engine.state.practise?.word == word }
        }
    }

    @Test
    fun theAlphabetIsIpaAndAnotherChoiceIsRemembered() {
        Screen().use { screen ->
            assertEquals("ʃ i p", Symbols.write(listOf("SH", "IY", "P"), screen.activity.ipa))
            screen.press(R.id.symbols)
        }
        Screen().use { assertEquals("SH IY P", Symbols.write(listOf("SH", "IY", "P"), it.activity.ipa)) }
    }

    @Test
    fun aModelFileIsPickedAndHandedOn() = Screen().use { screen ->
        screen.activity.pickModel()
        val request = shadowOf(screen.activity).nextStartedActivityForResult
        assertNotNull(request)
        val file = Intent().setData(Uri.parse("content://elsewhere/none.pte"))
        shadowOf(screen.activity).receiveResult(request.intent, android.app.Activity.RESULT_OK, file)
        screen.waitFor("its refusal") { screen.engine.state.error != null }
    }

    private fun listen(screen: Screen) {
        screen.waitFor("a model") { screen.engine.state.model != null }
        screen.press(R.id.primary)
        screen.waitFor("listening") { screen.engine.state.microphone == MicrophoneState.LISTENING }
    }

    private fun answer(screen: Screen, granted: Boolean, again: Boolean = false) {
        if (granted) shadowOf(app).grantPermissions(MICROPHONE) else shadowOf(app).denyPermissions(MICROPHONE)
        shadowOf(app.packageManager).setShouldShowRequestPermissionRationale(MICROPHONE, again)
        val result = if (granted) PackageManager.PERMISSION_GRANTED else PackageManager.PERMISSION_DENIED
        screen.activity.onRequestPermissionsResult(
            MicrophonePermission.REQUEST,
            arrayOf(MICROPHONE),
            intArrayOf(result),
        )
        Screen.idle()
    }

    /** Quiet noise, at the rate of a microphone. */
    private class Noise : ShadowAudioRecord.AudioRecordSource {
        private var state = 1

        override fun readInShortArray(into: ShortArray, offset: Int, size: Int, blocking: Boolean): Int {
            for (index in offset until offset + size) {
                state = state * 1_103_515_245 + 12_345
                into[index] = (state shr 24).toShort()
            }
            Thread.sleep(size / 16L)
            return size
        }
    }

    private companion object {
        const val MICROPHONE = Manifest.permission.RECORD_AUDIO
        const val SMALL = "w360dp-h320dp-port-notnight-xhdpi"
    }
}
