// Judges each case as Java does, in texts and in a character for each byte: `java -cp JACKSON Judge.java cases.json`.

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.regex.Pattern;

public final class Judge {
    public static void main(String[] arguments) throws Exception {
        int judged = 0;
        for (var it : new ObjectMapper().readTree(new File(arguments[0]))) {
            var pattern = Pattern.compile(it.get("pattern").textValue());
            var text = it.get("value").textValue();
            var bytes = new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
            for (var mode : Map.of("text", text, "bytes", bytes).entrySet()) {
                judged++;
                if (pattern.matcher(mode.getValue()).find() != it.get("valid").booleanValue()) {
                    System.out.println(mode.getKey() + " " + it);
                }
            }
        }
        System.out.println(judged + " judged");
    }
}
