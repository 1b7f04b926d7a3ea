package org.tetraphone.demo

import org.junit.Assert.assertEquals
import org.junit.Assert.assertSame
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.RuntimeEnvironment
import org.robolectric.annotation.Config
import org.tetraphone.PhonemeRecognizer.Phone

@RunWith(Runner::class)
@Config(sdk = [34, 35])
class SetupTest {
    @Test
    fun resourcesAndManifestAreThoseOfTheApp() {
        val app = RuntimeEnvironment.getApplication()
        assertEquals("org.tetraphone.demo", app.packageName)
        assertEquals("Tetraphone", app.getString(R.string.app_name))
        assertEquals(36, app.applicationInfo.targetSdkVersion)
    }

    @Test
    fun recognizerIsOutsideOfTheSandbox() {
        assertSame(ClassLoader.getSystemClassLoader(), Phone::class.java.classLoader)
    }
}
