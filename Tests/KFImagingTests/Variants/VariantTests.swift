import Testing

@testable import KFImaging

@Suite("Making variants")
struct VariantTests {
    @Test("Chains share their common first steps") func tree() throws {
        let texts = ["crop:9x9|>blur:2", "crop:9x9", "blur:2", "crop:9x9|>resize:3x3|>blur:2"]
        let tree = VariantTree(try texts.map { try ProcessorParser.parse($0) })
        #expect(tree.roots.count == 2)
        #expect(tree.roots[0].leaves == [1])
        #expect(tree.roots[0].children.map(\.leaves) == [[0], []])
        #expect(tree.roots[0].children[1].children.map(\.leaves) == [[3]])
        #expect(tree.roots[1].leaves == [2])
    }

    @Test(
        "Sizes decoded together equal sizes decoded alone",
        arguments: [
            "jpeg/cmyk.jpg", "jpeg/orientation-6.jpg", "jpeg/odd.jpg", "png/rgba-interlaced.png", "png/rgb16.png",
            "png/grey-alpha.png", "webp/alpha-lossless.webp", "gif/animated-loop-3.gif",
        ])
    func passes(_ name: String) throws {
        let bytes = try Fixture.bytes(name)
        let info = try bytes.probe()
        let sizes = [0.1, 0.15, 0.3, 1].map { factor in
            PixelSize(
                width: max(1, Int(clamping: Double(info.width) * factor)),
                height: max(1, Int(clamping: Double(info.height) * factor)))
        }
        try bytes.withUnsafeBytes { bytes in
            let groups = try ImageDecoder.passes(over: bytes, options: .init(), sizes: sizes)
            #expect(groups.flatMap { $0 }.sorted() == Array(sizes.indices))
            if info.format == .png || info.format == .jpeg { #expect(groups.count < sizes.count) }
            for group in groups {
                let together = try ImageDecoder.decode(bytes, options: .init(), sizes: group.map { sizes[$0] })
                for (index, image) in zip(group, together) {
                    let alone = try ImageDecoder.decode(bytes, options: DecodeOptions(exactSize: sizes[index]))
                    #expect(image.width == sizes[index].width && image.height == sizes[index].height)
                    #expect(try ImageEncoder.encode(image, as: .png) == ImageEncoder.encode(alone, as: .png))
                }
            }
        }
    }

    @Test("A custom processor can be a step of a chain") func custom() throws {
        let halved = CustomImageProcessor(identifier: "test.first-half") { (bitmap) throws(ImagingError) in
            try CroppingImageProcessor(width: Double(bitmap.width / 2), height: Double(bitmap.height))
                .process(.image(Image(bitmap)), options: ProcessingOptions()).bitmap
        }
        let chain = halved.append(another: BlurImageProcessor(blurRadius: 2))
        #expect(chain.identifier == "test.first-half|>blur:2")
        let image = try chain.process(.data(Fixture.bytes("gif/animated.gif")), options: ProcessingOptions())
        #expect(image.width == 60 && image.height == 90 && image.frames.count == 12)
    }
}
