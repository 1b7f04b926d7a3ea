package org.tetraphone.demo

import android.app.Application

/** Holds the engine, which outlives each screen. */
class DemoApplication : Application() {
    val engine: Engine by lazy { Engine(this) }
}
