import Testing

@testable import KFImaging

@Suite("Unsupported JPEG features")
struct UndecodableJPEGTests {
    /// The file with another frame header: its marker, and the bits of a sample.
    private func jpeg(_ marker: UInt8, bits: UInt8) throws -> [UInt8] {
        var bytes = try ImageEncoder.encode(Image(Pictures.gradient(16, 16)), as: .jpeg)
        let place = try #require(bytes.firstRange(of: [0xFF, 0xC0])?.lowerBound)
        bytes[place + 1] = marker
        bytes[place + 4] = bits
        return bytes
    }

    @Test(
        "The error names the unsupported feature",
        arguments: [
            (0xC3, 8, "JPEG with lossless compression is not supported"),
            (0xCB, 16, "JPEG with lossless compression is not supported"),
            (0xC5, 8, "JPEG with hierarchical compression is not supported"),
            (0xC1, 12, "JPEG with 12 bits a sample is not supported"),
            (0xC2, 12, "JPEG with 12 bits a sample is not supported"),
        ])
    func named(_ marker: Int, _ bits: Int, _ message: String) throws {
        let bytes = try jpeg(UInt8(marker), bits: UInt8(bits))
        let error = #expect(throws: ImagingError.self) { try ImageDecoder.decode(bytes) }
        #expect(error?.message == message)
        // The file passes the structure check, so that it can be cached as it is.
        #expect(try bytes.checkStructure() == [])
        #expect(try bytes.probe().bitDepth == bits)
    }
}
