package androidx.test.runner.intent

import android.app.Instrumentation.ActivityResult
import android.content.Intent

interface IntentMonitor

object IntentMonitorRegistry {
    @JvmStatic
    fun registerInstance(@Suppress("UNUSED_PARAMETER") monitor: IntentMonitor) = Unit
}

interface IntentStubber {
    fun getActivityResultForIntent(intent: Intent): ActivityResult?
}

/** Robolectric asks for the stubber only where one is loaded. */
object IntentStubberRegistry {
    @JvmStatic
    fun isLoaded() = false

    @JvmStatic
    fun getInstance(): IntentStubber = error("no intent stubber is loaded")
}
