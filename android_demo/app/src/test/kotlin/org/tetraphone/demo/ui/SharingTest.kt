package org.tetraphone.demo.ui

import android.app.Activity
import android.content.Intent
import android.net.Uri
import android.view.View
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertTrue
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.RuntimeEnvironment
import org.robolectric.Shadows.shadowOf
import org.robolectric.annotation.Config
import org.robolectric.shadows.ShadowAlertDialog
import org.tetraphone.demo.Export
import org.tetraphone.demo.R
import org.tetraphone.demo.Runner
import org.tetraphone.demo.ui.NavigationBar.Tab
import org.xmlpull.v1.XmlPullParser
import java.io.ByteArrayOutputStream
import java.io.FileNotFoundException

/** What leaves the app, and that nothing else does. */
@RunWith(Runner::class)
@Config(sdk = [35])
class SharingTest {
    private val app = RuntimeEnvironment.getApplication()

    /** More than the megabyte that an intent can hold. */
    private val long = Export("long.txt", "text/plain") { "0.00 0.10 ʃ\n".repeat(200_000) }

    @Test
    fun aResultOfAnyLengthIsSharedAsAFile() = Screen().use { screen ->
        screen.activity.share(long)
        var chooser: Intent? = null
        screen.waitFor("the choice of an app") {
            chooser = chooser ?: shadowOf(screen.activity).nextStartedActivity
            chooser != null
        }
        @Suppress("DEPRECATION")
        val intent = chooser!!.getParcelableExtra<Intent>(Intent.EXTRA_INTENT)!!
        assertFalse(intent.hasExtra(Intent.EXTRA_TEXT))
        assertTrue(intent.flags and Intent.FLAG_GRANT_READ_URI_PERMISSION != 0)
        @Suppress("DEPRECATION")
        val uri = intent.getParcelableExtra<Uri>(Intent.EXTRA_STREAM)!!
        assertEquals(uri, intent.clipData!!.getItemAt(0).uri)
        val text = app.contentResolver.openInputStream(uri)!!.use { it.reader().readText() }
        assertEquals(long.content(), text)
        for (other in listOf("none.txt", "../shared/long.txt", "..")) {
            val wrong = uri.buildUpon().path(null).appendPath(other).build()
            try {
                app.contentResolver.openInputStream(wrong)!!.close()
                throw AssertionError("$wrong was given")
            } catch (_: FileNotFoundException) {
                continue
            }
        }
    }

    @Test
    fun aResultIsSavedWhereTheUserWants() = Screen().use { screen ->
        screen.activity.save(long)
        val request = shadowOf(screen.activity).nextStartedActivityForResult
        assertEquals(Intent.ACTION_CREATE_DOCUMENT, request.intent.action)
        assertEquals(long.name, request.intent.getStringExtra(Intent.EXTRA_TITLE))
        val place = Uri.parse("content://elsewhere/long.txt")
        val written = ByteArrayOutputStream()
        shadowOf(app.contentResolver).registerOutputStream(place, written)
        shadowOf(screen.activity).receiveResult(request.intent, Activity.RESULT_OK, Intent().setData(place))
        screen.waitFor("the file") { written.size() == long.content().toByteArray().size }
    }

    @Test
    fun formatsAreOfferedWhenAllIsRecognised() = Screen().use { screen ->
        screen.show(Tab.RECORDINGS, States.recognising)
        assertFalse(screen.find<View>(R.id.share).isShown || screen.find<View>(R.id.save).isShown)
        screen.show(Tab.RECORDINGS, States.recording)
        assertTrue(screen.find<View>(R.id.share).isShown && screen.find<View>(R.id.save).isShown)
    }

    /** A refusal that a new phone takes over would keep Android from ever asking there. */
    @Test
    fun aBackupHoldsSettingsAlone() {
        for (rules in listOf(R.xml.backup_rules, R.xml.data_extraction_rules)) {
            val parser = app.resources.getXml(rules)
            val included = mutableListOf<String>()
            while (parser.next() != XmlPullParser.END_DOCUMENT) {
                if (parser.eventType != XmlPullParser.START_TAG || parser.name != "include") continue
                included += parser.getAttributeValue(null, "domain") + "/" + parser.getAttributeValue(null, "path")
            }
            assertEquals(setOf("sharedpref/settings.xml"), included.toSet())
        }
    }

    @Test
    fun licencesAreContained() = Screen().use { screen ->
        screen.press(R.id.about)
        screen.press(R.id.licences)
        val text = shadowOf(ShadowAlertDialog.getLatestAlertDialog()).message.toString()
        val ends = listOf("Apache License", "END OF TERMS AND CONDITIONS", "BSD License", "POSSIBILITY OF SUCH DAMAGE")
        for (part in ends) assertTrue(part, part in text)
        assertTrue(screen.texts.any { "0.1" in it.text })
    }
}
