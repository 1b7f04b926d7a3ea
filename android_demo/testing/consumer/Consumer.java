import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.util.List;
import org.tetraphone.PhonemeRecognizer;
import org.tetraphone.PhonemeRecognizer.Options;
import org.tetraphone.PhonemeRecognizer.Phone;
import org.tetraphone.PhonemeRecognizer.RecognizerException;

/**
 * Another app, in Java, with nothing but the AAR: prints the phones of a WAV file of prepare.py as JSON.
 *
 * <pre>java Consumer MODEL.pte RECORDING.wav</pre>
 */
public final class Consumer {
    public static void main(String[] arguments) throws IOException {
        File model = new File(arguments[0]);
        File recording = new File(arguments[1]);
        short[] samples = samples(Files.readAllBytes(recording.toPath()));

        try (PhonemeRecognizer recognizer = new PhonemeRecognizer(model)) {
            recognizer.accept(samples, samples.length, 16000);
            recognizer.finish();
            List<Phone> phones = recognizer.poll();
            System.out.print(PhonemeRecognizer.write(recording.getName(), recognizer.getSeconds(), phones, "json"));
        }

        InputStream asset = new ByteArrayInputStream(Files.readAllBytes(model.toPath()));
        try (PhonemeRecognizer recognizer = new PhonemeRecognizer(asset, "asset.pte", new Options(4))) {
            recognizer.accept(samples, samples.length / 2, 16000, 2);
            recognizer.finish();
            require(recognizer.getInfo().getSampleRate() == 16000, "the rate");
            require(PhonemeRecognizer.getInstructionSets().contains(PhonemeRecognizer.getInstructionSet()), "a set");
            require("ʃ".equals(PhonemeRecognizer.getIpa().get("SH")), "IPA");
        }
        try {
            new PhonemeRecognizer(new File("none.pte")).close();
            require(false, "a missing file was opened");
        } catch (RecognizerException refusal) {
            require(refusal.getMessage().contains("none.pte"), refusal.getMessage());
        }
    }

    /** 16 bits, behind a header of 44 bytes. */
    private static short[] samples(byte[] wav) {
        short[] samples = new short[(wav.length - 44) / 2];
        ByteBuffer.wrap(wav, 44, wav.length - 44).order(ByteOrder.LITTLE_ENDIAN).asShortBuffer().get(samples);
        return samples;
    }

    private static void require(boolean condition, String what) {
        if (!condition) throw new AssertionError(what);
    }
}
