import CGIFReference
import CImageCodecs
import Glibc

/// Which part of the reading side a run of the fuzzer drives: `KF_FUZZ_TARGET` names it, so that one build serves all.
enum Target: String, CaseIterable {
    case png, jpeg, gif, webp, avif, heic, jxl, bmp, tiff, ico, probe, structure, metadata, lzw

    static let current: Target = {
        guard let name = getenv("KF_FUZZ_TARGET"), let target = Target(rawValue: String(cString: name)) else {
            print("KF_FUZZ_TARGET must be one of", allCases.map(\.rawValue).joined(separator: " "))
            exit(2)
        }
        return target
    }()

    /// Small enough that the time goes into many inputs and not into large ones; `KF_FUZZ_PIXELS` is another limit.
    private static let limits = DecodeLimits(
        maxPixels: getenv("KF_FUZZ_PIXELS").flatMap { Int(String(cString: $0)) } ?? 100_000, maxFrames: 50,
        maxAnimationBytes: 8 << 20, maxScans: 20, timeLimit: .seconds(5))

    /// False for what another target is for: the fuzzer then goes no further from there.
    func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
        switch self {
        case .png, .jpeg, .gif, .webp, .avif, .heic, .jxl, .bmp, .tiff, .ico:
            guard ContentKind.sniff(bytes) == .image(format) else { return false }
            decode(bytes)
        case .probe: attempt { () throws(ImagingError) in _ = try ImageProbe.probe(bytes, limits: Target.limits) }
        case .metadata: return removeMetadata(bytes)
        case .structure: attempt { () throws(ImagingError) in _ = try ImageProbe.inspect(bytes) }
        case .lzw: return unpack(bytes)
        }
        return true
    }

    /// Removes the metadata of a file, and carries that of one that is decoded. Nothing is left for a second removal, and
    /// what was decoded before is decoded after it, to the same pixels.
    private func removeMetadata(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard case .image(let format) = ContentKind.sniff(bytes) else { return false }
        attempt { () throws(ImagingError) in
            guard let stripped = try MetadataRemoval.strip(Array(bytes), format) else { return }
            let image: Image
            do throws(ImagingError) {
                image = try ImageDecoder.decode(bytes, options: DecodeOptions(limits: Target.limits))
            } catch {
                return
            }
            guard let after = try? ImageDecoder.decode(stripped, options: DecodeOptions(limits: Target.limits)),
                after.frames.map(\.bitmap) == image.frames.map(\.bitmap)
            else { fatalError("other pixels without metadata") }
            guard let again = try? MetadataRemoval.strip(stripped, format), again == stripped else {
                fatalError("a second removal changes the file")
            }
            _ = image.metadata?.describing(PixelSize(width: 70_000, height: 3))
        }
        return true
    }

    /// Unpacks the bytes as a GIF's picture data. What comes out must be what giflib makes of it, and nothing that giflib
    /// reads may be refused but codes that no code before them defines: giflib puts anything for those.
    private func unpack(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count > 3 else { return false }
        let (size, width, height) = (UInt32(bytes[0] % 12), Int(bytes[1]) + 1, Int(bytes[2]) + 1)
        let count = width * height
        var ours = [UInt8](repeating: 0, count: count)
        var theirs = ours
        var end = 3
        while end < bytes.count, end + 1 + Int(bytes[end]) <= bytes.count { end += 1 + Int(bytes[end]) }
        let data = bytes.bindMemory(to: UInt8.self).baseAddress.map { $0 + 3 }
        let codes = kf_lzw_create(data, end - 3, size)
        defer { kf_lzw_destroy(codes) }
        let status = kf_lzw_read(codes, &ours, count)
        guard size <= 8 else { return true }
        let isRead =
            gif_reference_unpack(data, end - 3, UInt8(size), UInt16(width), UInt16(height), &theirs) == 1
        if isRead, status == KF_TRUNCATED { fatalError("giflib finds all pixels") }
        if status == KF_OK, !isRead || ours != theirs { fatalError("giflib reads something else") }
        return true
    }

    /// How the picture is asked for, so that every way through the decoders is taken; the length of the input chooses,
    /// unless `KF_FUZZ_VARIANT` does.
    private static let variant = getenv("KF_FUZZ_VARIANT").flatMap { Int(String(cString: $0)) }

    private func decode(_ bytes: UnsafeRawBufferPointer) {
        var options = DecodeOptions(limits: Target.limits)
        switch Target.variant ?? bytes.count % 9 {
        case 1: options.exactSize = PixelSize(width: 19, height: 23)
        case 2: options.minimumSize = PixelSize(width: 20, height: 20)
        case 3: options.limits.scaleDownBytes = 3000
        case 4: options.convertsToSRGB = true
        case 5: options.firstFrameOnly = true
        case 6: options.limits.toleratesDamage = true
        case 7:
            options.limits.toleratesDamage = true
            options.exactSize = PixelSize(width: 19, height: 23)
        default: break
        }
        attempt { () throws(ImagingError) in _ = try ImageDecoder.decode(bytes, options: options) }
        if self == .jpeg { feedInPieces(bytes) }
    }

    private var format: ImageFormat { ImageFormat(rawValue: rawValue) ?? .png }

    /// The same bytes as they would come from a network.
    private func feedInPieces(_ bytes: UnsafeRawBufferPointer) {
        attempt { () throws(ImagingError) in
            let decoder = ProgressiveJPEGDecoder(options: DecodeOptions(limits: Target.limits))
            let step = max(1, bytes.count / 5)
            var start = 0
            while start < bytes.count {
                let end = min(start + step, bytes.count)
                _ = try decoder.append(Array(bytes[start..<end]), isLast: end == bytes.count)
                start = end
            }
        }
    }

    /// Whether the target reads PNGs deeply, of which every other input gets right checksums.
    var mendsChecksums: Bool { self == .png || self == .metadata }

    /// Puts the right checksum behind every chunk of a PNG: with a wrong one nothing behind it is ever reached.
    static func mend(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress, PNGStructure.isSigned(UnsafeRawBufferPointer(bytes), at: 0) else { return }
        let view = UnsafeRawBufferPointer(bytes)
        var position = 8
        while let length = view.bigEndian32(at: position), position + 12 + length <= view.count {
            let covered = UnsafeRawPointer(base + position + 4).assumingMemoryBound(to: UInt8.self)
            let sum = kf_crc32(0, covered, length + 4).bigEndian
            (base + position + 8 + length).storeBytes(of: sum, as: UInt32.self)
            position += 12 + length
        }
    }

    private func attempt(_ body: () throws(ImagingError) -> Void) {
        do throws(ImagingError) {
            try body()
        } catch {
            // Refusing is right; only crashing is not.
            _ = error.message
        }
    }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // A copy of just that length, so that reading past the end is seen.
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
    defer { copy.deallocate() }
    if let bytes { copy.copyMemory(from: UnsafeRawBufferPointer(start: bytes, count: count)) }
    // Every other input keeps the checksums that it has.
    if Target.current.mendsChecksums, count & 1 == 0 { Target.mend(copy) }
    return Target.current.run(UnsafeRawBufferPointer(copy)) ? 0 : -1
}
