import org.jetbrains.kotlin.gradle.dsl.JvmTarget
import javax.inject.Inject

plugins {
    alias(libs.plugins.android.application)
    alias(libs.plugins.kotlin.android)
}

/** What of the repository the app's assets have: models and its licence. One that was renamed does not stay there. */
abstract class RepositoryAssets @Inject constructor(private val files: FileSystemOperations) : DefaultTask() {
    @get:InputFiles
    @get:PathSensitive(PathSensitivity.NAME_ONLY)
    abstract val models: ConfigurableFileCollection

    @get:InputFile
    @get:PathSensitive(PathSensitivity.NONE)
    abstract val licence: RegularFileProperty

    @get:OutputDirectory
    abstract val assets: DirectoryProperty

    @TaskAction
    fun copy() {
        files.sync {
            from(models) { into("models") }
            from(licence) {
                into("licences")
                rename { "Apache-2.0.txt" }
            }
            into(assets)
        }
    }
}

// int8, int4 and the tiny one in int8, as prepare.py takes them.
val repositoryAssets = tasks.register<RepositoryAssets>("repositoryAssets") {
    licence = rootDir.resolve("../LICENSE")
    models.from(
        fileTree(rootDir.resolve("../models")) {
            include("*-int8.pte", "*-int4.pte")
            exclude("*-tiny-int4.pte")
        },
    )
}

androidComponents {
    onVariants { it.sources.assets?.addGeneratedSourceDirectory(repositoryAssets, RepositoryAssets::assets) }
}

// resources.sh reads the lines `name = value` for builds without Gradle.
android {
    namespace = "org.tetraphone.demo"
    compileSdk = 36
    defaultConfig {
        applicationId = "org.tetraphone.demo"
        minSdk = 26
        targetSdk = 36
        versionCode = 1
        versionName = "0.1"
        testInstrumentationRunner = "androidx.test.runner.AndroidJUnitRunner"
    }
    buildTypes {
        release {
            isMinifyEnabled = true
            isShrinkResources = true
            proguardFiles(getDefaultProguardFile("proguard-android-optimize.txt"))
            // A key of one's own for a store; this one lets the small build be tried.
            signingConfig = signingConfigs["debug"]
        }
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
    sourceSets["test"].kotlin.srcDir("../testing/runner")
    sourceSets["test"].resources.srcDir("../testing/resources")
    testOptions {
        unitTests.isIncludeAndroidResources = true
        // What `make android` leaves there: the host's library, models and expected phones.
        unitTests.all { test ->
            val prepared = rootDir.resolve("../build/android")
            test.jvmArgs("-Djava.library.path=$prepared/host", "-Xmx2g", "--add-opens=java.base/java.io=ALL-UNNAMED")
            test.systemProperty("tetraphone.models", "$prepared/assets/models")
            test.systemProperty("tetraphone.expected", "$prepared/expected")
            test.systemProperty("tetraphone.corpora", rootDir.resolve("../../shared/corpora"))
            test.systemProperty("tetraphone.screenshots", layout.buildDirectory.dir("screenshots").get())
        }
    }
}

kotlin {
    compilerOptions {
        jvmTarget = JvmTarget.JVM_1_8
    }
}

dependencies {
    implementation(project(":recognizer"))
    testImplementation(libs.junit)
    testImplementation(libs.robolectric)
    androidTestImplementation(libs.androidx.test.core)
    androidTestImplementation(libs.androidx.test.junit)
    androidTestImplementation(libs.androidx.test.rules)
    androidTestImplementation(libs.androidx.test.runner)
}
