package androidx.test.ext.junit.runners

import org.junit.runners.BlockJUnit4ClassRunner

class AndroidJUnit4(test: Class<*>) : BlockJUnit4ClassRunner(test)
