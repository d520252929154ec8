import Glibc

/// The transfer function of sRGB.
enum SRGB {
    /// Returns the linear light of an encoded value; both from 0 to 1.
    static func linear(_ value: Double) -> Double {
        value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    }

    /// Returns the encoded value of linear light; both from 0 to 1.
    static func encoded(_ light: Double) -> Double {
        light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
    }
}
