import Testing

@testable import KFImaging

@Suite("Processors are read from their text")
struct ProcessorParserTests {
    @Test(arguments: [
        ("resize:320x240", "resize:320x240,none"), ("resize:320x240,fit", "resize:320x240,fit"),
        ("resize:320X240, mode=FILL", "resize:320x240,fill"), ("resize:320x,fit", "resize:320x"),
        ("resize:x240.5", "resize:x240.5"), ("crop:20x10", "crop:20x10,anchor=0.5x0.5"),
        ("crop:20x10,anchor=top-left", "crop:20x10,anchor=0x0"), ("crop:20x10,anchor=-1x2", "crop:20x10,anchor=0x1"),
        ("blur:10", "blur:10"), ("Blur: radius = 2.50", "blur:2.5"), ("blur:1e1", "blur:10"), ("", ""),
        ("resize:100x100 |> blur:3|>crop:5x5", "resize:100x100,none|>blur:3|>crop:5x5,anchor=0.5x0.5"),
    ])
    func identifiersAreNormalisedAndReadBack(_ spec: String, _ identifier: String) throws {
        #expect(try ProcessorParser.parse(spec).identifier == identifier)
        #expect(try ProcessorParser.parse(identifier).identifier == identifier)
    }

    @Test(arguments: [
        ("resise:1x1", "did you mean 'resize'"), ("wobble:3", "there are"), ("blur", "radius is missing"),
        ("blur:-1", "0 to 10000"), ("blur:nan", "number"), ("blur:0x10", "number"), ("blur:inf", "number"),
        ("blur:3,4", "too many"), ("blur:radius=3,radius=4", "twice"), ("blur:sigma=3", "it takes radius"),
        ("resize:0x5", "above 0"), ("resize:x", "like '320x240'"), ("resize:5", "like '320x240'"),
        ("resize:99999999x5", "up to 65535"), ("resize:5x5,cover", "none, fit, fill"), ("crop:5x", "both sides"),
        ("crop:5x5,anchor=middle", "center"), ("blur:", "empty"), ("blur:3|>", "empty step"),
        ("|>blur:3", "empty step"),
    ])
    func whatIsWrongIsNamed(_ spec: String, _ hint: String) {
        let error = #expect(throws: ImagingError.self) { try ProcessorParser.parse(spec) }
        #expect(error?.message.contains(hint) == true, "\(error?.message ?? "")")
    }

    @Test func chainsAreFlatAndTheDefaultIsNothing() throws {
        let blur = try ProcessorParser.parse("blur:3")
        let chain = DefaultImageProcessor() |> blur |> DefaultImageProcessor() |> (blur |> blur)
        #expect(chain.identifier == "blur:3|>blur:3|>blur:3")
        #expect((chain as? ChainedImageProcessor)?.steps.count == 3)
        #expect(DefaultImageProcessor().append(DefaultImageProcessor()).identifier.isEmpty)
    }

    @Test func coloursAreRead() {
        #expect(Color("#f80") == Color(red: 255, green: 136, blue: 0))
        #expect(Color("#FF880040") == Color(red: 255, green: 136, blue: 0, alpha: 64))
        #expect(Color("#ff8800")?.hexadecimal == "#ff8800ff")
        for text in ["", "f80", "#ff", "#ff88", "#gg0000", "#ff880", "#ff88001", "#+f8800", "#ff8800401"] {
            #expect(Color(text) == nil)
        }
    }
}
