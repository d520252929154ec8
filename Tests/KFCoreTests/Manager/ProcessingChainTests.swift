import KFCore
import Testing

@Suite("Processing chains that end in an encoding")
struct ProcessingChainTests {
    @Test(
        "An identifier parses to the same chain",
        arguments: [
            "encode:png", "encode:webp,quality=80", "encode:jpeg,quality=85,background=#112233ff,metadata=1",
            "encode:jpeg,quality=70,progressive=1,chroma=4:4:4,srgb=1", "encode:png,level=9",
            "encode:webp,quality=85,lossless=1,effort=6", "encode:keep,quality=50", "resize:320x|>encode:gif",
            "encode:avif,quality=85", "encode:avif,quality=60,chroma=4:4:4,lossless=1,speed=0",
            "resize:320x|>blur:3|>encode:webp,quality=1",
        ])
    func roundTrip(text: String) throws {
        let chain = try ProcessingChain(text)
        var options = KingfisherOptions()
        options.processor = chain.processor
        options.cacheSerializer = try #require(chain.serializer)
        #expect(options.identifier == text)
    }

    @Test("A chain without an encoding has no serializer")
    func plain() throws {
        for text in ["", "resize:320x", "grayscale|>blur:2"] {
            let chain = try ProcessingChain(text)
            #expect(chain.serializer == nil && chain.format == nil && chain.processor.identifier == text)
        }
    }

    @Test("Unnamed encoding options keep the given defaults")
    func defaults() throws {
        var encoding = EncodeOptions()
        encoding.quality = 33
        let chain = try ProcessingChain(" resize:10x |> encode:jpg ", encoding: encoding)
        #expect(chain.format == .jpeg && chain.serializer?.identifier == "encode:jpeg,quality=33")
    }

    @Test(
        "An error names the wrong part of a chain",
        arguments: [
            ("encode", "format"), ("encode:", "format"), ("encode:tiff", "tiff"), ("encode:webp,quality=0", "quality"),
            ("encode:webp,quality=1e9", "quality"), ("encode:webp|>resize:3x", "last step"), ("|>encode:webp", "empty"),
            ("encode:jpeg,chroma=1", "chroma"), ("encode:jpeg,background=#1234", "background"), ("encode:png,x=1", "x"),
            ("encode:avif,speed=11", "speed"), ("encode:avif,speed=-1", "speed"),
        ])
    func wrong(text: String, word: String) {
        let error = #expect(throws: ImagingError.self) { try ProcessingChain(text) }
        #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
    }
}
