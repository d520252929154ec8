import CImageCodecs
import Glibc

/// Converts rows of a TIFF's samples to pixels.
final class TIFFRows {
    let format: PixelFormat
    private let layout: TIFFLayout
    private let width: Int
    private let used: Int
    private let planes: Int
    private let rowBytes: Int
    /// Red, green and blue of 8 bits for each index of a palette.
    private var palette: [UInt8] = []
    private let inks: InkConverter?
    /// The samples of a row that count, unpacked; the inks of a row behind them.
    private let samples: UnsafeMutablePointer<UInt16>
    private let colors: UnsafeMutablePointer<UInt8>

    init(_ layout: TIFFLayout, _ picture: kf_tiff_picture, profile: [UInt8]?) throws(ImagingError) {
        (self.layout, format) = (layout, layout.format)
        (width, planes, rowBytes) = (Int(picture.width), Int(picture.planes), picture.row_bytes)
        used = layout.used
        inks = layout.colors == .inks ? InkConverter(profile: profile) : nil
        if layout.colors == .palette { palette = try TIFFRows.palette(picture) }
        samples = try Scratch.take(UInt16.self, width * used)
        do throws(ImagingError) {
            colors = try Scratch.take(UInt8.self, inks == nil ? 0 : width * 4)
        } catch {
            Scratch.give(samples)
            throw error
        }
    }

    deinit {
        Scratch.give(samples)
        Scratch.give(colors)
    }

    /// Entries have 16 bits. Old writers filled the lower 8 alone.
    private static func palette(_ picture: kf_tiff_picture) throws(ImagingError) -> [UInt8] {
        guard let red = picture.palette.0, let green = picture.palette.1, let blue = picture.palette.2 else {
            throw .corrupt(.tiff, reason: "no palette")
        }
        let entries = (0..<1 << Int(picture.bits)).flatMap { [red[$0], green[$0], blue[$0]] }
        let shift: UInt16 = entries.allSatisfy { $0 < 256 } ? 0 : 8
        return entries.map { UInt8(truncatingIfNeeded: $0 >> shift) }
    }

    /// Converts a row, whose other planes follow at a distance of `planeBytes`.
    func convert(_ row: UnsafePointer<UInt8>, planeBytes: Int, to output: UnsafeMutableRawPointer) {
        if layout.colors == .converted { return convertRGBA(row, output.assumingMemoryBound(to: UInt8.self)) }
        let isCopied = planes == 1 && layout.samples == format.channelCount && layout.alpha != .premultiplied
        if isCopied, layout.bits == format.depth.rawValue,
            layout.colors == .gray(isInverted: false) || layout.colors == .rgb
        {
            memcpy(output, row, rowBytes)
            return
        }
        if planes == 1 {
            unpack(row, from: layout.samples, taking: used, to: samples)
        } else {
            for plane in 0..<used { unpack(row + plane * planeBytes, from: 1, taking: 1, to: samples + plane) }
        }
        switch layout.colors {
        case .palette: look(output.assumingMemoryBound(to: UInt8.self))
        case .inks: mix(output.assumingMemoryBound(to: UInt8.self))
        case .lab: convertLab(output.assumingMemoryBound(to: UInt8.self))
        case .gray, .rgb, .converted:
            if format.depth == .eight {
                scale(to: output.assumingMemoryBound(to: UInt8.self))
            } else {
                scale(to: output.assumingMemoryBound(to: UInt16.self))
            }
        }
    }

    /// Drops the alpha of libtiff's RGBA, which is opaque.
    private func convertRGBA(_ row: UnsafePointer<UInt8>, _ output: UnsafeMutablePointer<UInt8>) {
        for x in 0..<width {
            for channel in 0..<3 { output[x * 3 + channel] = row[x * 4 + channel] }
        }
    }

    /// Writes the first `count` of the `step` samples that a pixel has in a row.
    private func unpack(
        _ row: UnsafePointer<UInt8>, from step: Int, taking count: Int, to target: UnsafeMutablePointer<UInt16>
    ) {
        let bits = layout.bits
        // Where all samples count, the row is one run.
        let (pixels, count) = step == used ? (1, width * used) : (width, count)
        for x in 0..<pixels {
            let (first, output) = (x * step, target + x * used)
            switch bits {
            case 8: for index in 0..<count { output[index] = UInt16(row[first + index]) }
            case 16:
                UnsafeRawPointer(row).withMemoryRebound(to: UInt16.self, capacity: first + count) { words in
                    for index in 0..<count { output[index] = words[first + index] }
                }
            default:
                let mask: UInt32 = 1 << bits - 1
                var next = first * bits / 8
                // The bits that are left of a byte that the samples before have begun.
                var left = (8 - first * bits % 8) % 8
                var held: UInt32 = 0
                if left > 0 {
                    held = UInt32(row[next])
                    next += 1
                }
                for index in 0..<count {
                    while left < bits {
                        held = held << 8 | UInt32(row[next])
                        next += 1
                        left += 8
                    }
                    left -= bits
                    output[index] = UInt16(truncatingIfNeeded: held >> left & mask)
                }
            }
        }
    }

    /// A sample of `bits` at the full range of the output.
    @inline(__always)
    private func scaled(_ sample: UInt16, to most: UInt32) -> UInt32 {
        let (highest, value): (UInt32, UInt32) = (1 << layout.bits - 1, UInt32(truncatingIfNeeded: sample))
        return highest == most ? value : (value * most + highest / 2) / highest
    }

    private func scale<Sample: FixedWidthInteger & UnsignedInteger>(to output: UnsafeMutablePointer<Sample>) {
        let most = UInt32(clamping: Sample.max)
        let (step, channels) = (used, format.channelCount)
        let colors = channels - (format.hasAlpha ? 1 : 0)
        let flip = layout.colors == .gray(isInverted: true) ? most : 0
        for x in 0..<width {
            let (input, pixel) = (samples + x * step, output + x * channels)
            let alpha = format.hasAlpha ? scaled(input[colors], to: most) : most
            for channel in 0..<colors {
                var value = scaled(input[channel], to: most) ^ flip
                if layout.alpha == .premultiplied, alpha < most {
                    // The product of two samples of 16 bits fits, and the rounding does not add to it.
                    value = alpha == 0 ? 0 : min(most, (value * most + alpha / 2) / alpha)
                }
                pixel[channel] = Sample(truncatingIfNeeded: value)
            }
            if format.hasAlpha { pixel[colors] = Sample(truncatingIfNeeded: alpha) }
        }
    }

    private func look(_ output: UnsafeMutablePointer<UInt8>) {
        let (step, channels) = (used, format.channelCount)
        for x in 0..<width {
            let (input, pixel) = (samples + x * step, output + x * channels)
            let entry = Int(input[0]) * 3
            let alpha = channels == 4 ? scaled(input[1], to: 255) : 255
            for channel in 0..<3 {
                var value = UInt32(palette[entry + channel])
                if layout.alpha == .premultiplied, alpha < 255 {
                    value = alpha == 0 ? 0 : min(255, (value * 255 + alpha / 2) / alpha)
                }
                pixel[channel] = UInt8(truncatingIfNeeded: value)
            }
            if channels == 4 { pixel[3] = UInt8(truncatingIfNeeded: alpha) }
        }
    }

    /// From CIE XYZ with a white of D50 to the linear light of sRGB, adapted by Bradford's method.
    private static let fromXYZ: [SIMD3<Double>] = [
        [3.1338561, -1.6168667, -0.4906146], [-0.9787684, 1.9161415, 0.0334540], [0.0719453, -0.2289914, 1.4052427],
    ]

    private func convertLab(_ output: UnsafeMutablePointer<UInt8>) {
        let (bits, share) = (layout.bits, 256 / Double(1 << layout.bits))
        func signed(_ sample: UInt16) -> Double {
            Double(sample >> (bits - 1) == 0 ? Int(sample) : Int(sample) - 1 << bits) * share
        }
        func light(_ root: Double) -> Double { root > 6 / 29 ? root * root * root : (root - 4 / 29) * 108 / 841 }
        for x in 0..<width {
            let pixel = samples + x * used
            let lightness = Double(scaled(pixel[0], to: 65_535)) / 65_535
            let y = (100 * lightness + 16) / 116
            let (red, blue) = (y + signed(pixel[1]) / 500, y - signed(pixel[2]) / 200)
            let xyz = SIMD3(0.96422 * light(red), light(y), 0.82521 * light(blue))
            for channel in 0..<3 {
                let sum = (TIFFRows.fromXYZ[channel] * xyz).sum()
                output[x * 3 + channel] = ChannelTables.sample(SRGB.encoded(sum))
            }
        }
    }

    /// In a TIFF, 0 is no ink.
    private func mix(_ output: UnsafeMutablePointer<UInt8>) {
        for x in 0..<width {
            for ink in 0..<4 {
                let amount = scaled(samples[x * 4 + ink], to: 255)
                colors[x * 4 + ink] = UInt8(truncatingIfNeeded: 255 - amount)
            }
        }
        inks?.convert(colors, to: output, width)
    }
}
